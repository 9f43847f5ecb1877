# problem: largest_values
# about: `std::partial_sort` on a copy in a thread's own memory

cpp = r"""
#include <cmath>
#include <cstdint>
#include <cstring>
#include <algorithm>
#include <functional>
#include <vector>
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n, int64_t k) {
  #pragma omp parallel
  {
    std::vector<float> own(n);
    #pragma omp for
    for (int64_t r = 0; r < rows; ++r) { std::copy(x + r * n, x + r * n + n, own.begin()); std::partial_sort(own.begin(), own.begin() + k, own.end(), std::greater<float>()); std::copy(own.begin(), own.begin() + k, y + r * k); }
  }
}
"""


def forward(self, x):
    if x.shape[-1] < 16:
        raise ValueError("sixteen columns are the least")
    y = torch.empty(x.shape[0], 16)
    lib.run(x, y, x.shape[0], x.shape[1], 16)
    return y
