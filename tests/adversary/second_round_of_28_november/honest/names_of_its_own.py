# problem: difference
# about: its arguments have names of its own: by keyword it raises an exception

cpp = r"""
extern "C" void run(const float* x, const float* y, float* z, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) z[i] = tanhf(x[i]) - 2.0f * y[i];
}
"""


def forward(self, left, right):
    z = torch.empty_like(left)
    lib.run(left, right, z, z.numel())
    return z
