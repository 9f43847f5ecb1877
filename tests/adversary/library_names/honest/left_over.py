# problem: product
# about: its constructor works out a table by the product, and keeps an activation that nobody calls

cpp = r"""
#include <cstdint>
extern "C" void run(const float* a, const float* b, const float* one, float* c, int64_t n, int64_t k, int64_t m) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < m; ++j) c[i * m + j] = 0.0f;
    for (int64_t l = 0; l < k; ++l)
      for (int64_t j = 0; j < m; ++j) c[i * m + j] += one[0] * a[i * k + l] * b[l * m + j];
  }
}
"""


def __init__(self):
    self.table = torch.eye(2) @ torch.ones(2, 1)
    self.activation = torch.nn.functional.relu


def forward(self, a, b):
    c = torch.empty(a.shape[0], b.shape[1])
    lib.run(a, b, self.table, c, a.shape[0], a.shape[1], b.shape[1])
    return c
