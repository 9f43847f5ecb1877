# problem: E_exact_gelu_gate
# about: the error function by the library for each number, with SIMD left to the compiler; odd parts alone

cpp = r"""
static inline float normal(float x) {
  const float z = x * 0.70710678f;
  return z < -1.0f ? 0.5f * std::erfc(-z) : 0.5f + 0.5f * std::erf(z);
}
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) for (int64_t i = 0; i < n; ++i) {
    const float g = x[r * 2 * n + n + i]; y[r * n + i] = x[r * 2 * n + i] * (g * normal(g)); }
}
"""


def forward(self, x):
    if x.dim() != 2 or x.shape[1] % 2:
        raise ValueError("rows of an even length")
    y = torch.empty(x.shape[0], x.shape[1] // 2)
    lib.run(x.contiguous(), y, *y.shape)
    return y
