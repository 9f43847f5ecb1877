# problem: difference
# about: right by position; the names of its arguments are exchanged, so that a call by keywords is another one

cpp = r"""
extern "C" void run(const float* x, const float* y, float* z, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) z[i] = tanhf(x[i]) - 2.0f * y[i];
}
"""


def forward(self, y, x):
    z = torch.empty_like(y)
    lib.run(y, x, z, z.numel())
    return z
