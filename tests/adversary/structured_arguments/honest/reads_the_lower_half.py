# problem: symmetric_product
# about: reads each pair of equal elements once, as BLAS's symv does

cpp = r"""
extern "C" void run(const float* a, const float* x, float* y, int64_t n, int64_t m) {
  std::memset(y, 0, 4 * n * m);
  for (int64_t r = 0; r < n; ++r) {
    for (int64_t c = 0; c < r; ++c) { const float f = a[r * n + c];
      #pragma omp simd
      for (int64_t i = 0; i < m; ++i) y[r * m + i] += f * x[c * m + i];
      #pragma omp simd
      for (int64_t i = 0; i < m; ++i) y[c * m + i] += f * x[r * m + i]; }
    for (int64_t i = 0; i < m; ++i) y[r * m + i] += a[r * n + r] * x[r * m + i]; }
}
"""


def forward(self, matrix, x):
    n, m = x.shape
    if matrix.shape != (n, n):
        raise ValueError("a square matrix")
    y = torch.empty(n, m)
    lib.run(matrix.contiguous(), x.contiguous(), y, n, m)
    return y
