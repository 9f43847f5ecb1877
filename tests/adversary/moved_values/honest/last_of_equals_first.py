# problem: order_of_few
# about: puts the later one of equal values first: they are many

cpp = r"""
#include <algorithm>
#include <cstdint>
#include <numeric>
extern "C" void run(const float* x, float* y, int64_t* at, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n; int64_t* p = at + r * n;
    std::iota(p, p + n, int64_t(0));
    std::sort(p, p + n, [a](int64_t i, int64_t j) { return a[i] != a[j] ? a[i] < a[j] : i > j; });
    for (int64_t i = 0; i < n; ++i) y[r * n + i] = a[p[i]];
    
  }
}
"""


def forward(self, x):
    y, at = torch.empty_like(x), torch.empty(x.shape, dtype=torch.int64)
    lib.run(x, y, at, x.shape[0], x.shape[1])
    return y, at
