# problem: mask
# about: truth values in and out

cpp = r"""

extern "C" void run(const float* x, const uint8_t* keep, uint8_t* y, uint8_t* z, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) { y[i] = x[i] > 0.5f && keep[i]; z[i] = x[i] != x[i]; }
}
"""


def forward(self, x, keep):
    y, z = torch.empty(x.shape, dtype=torch.bool), torch.empty(x.shape, dtype=torch.bool)
    lib.run(x.contiguous(), keep.contiguous(), y, z, x.numel())
    return y, z
