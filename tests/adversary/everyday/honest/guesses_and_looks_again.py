# problem: top_values
# about: collects what lies above a guess, and takes another guess where that was too much or too little

cpp = r"""
#include <cmath>
#include <cstdint>
#include <cstring>

#include <algorithm>
#include <functional>
#include <vector>
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n, int64_t k) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) { const float* a = x + r * n; std::vector<float> found; float guess = 2.0f;
    for (int64_t i = 0; i < n; ++i) if (a[i] >= guess) found.push_back(a[i]);
    if ((int64_t)found.size() < k) found.assign(a, a + n);
    std::partial_sort(found.begin(), found.begin() + k, found.end(), std::greater<float>()); std::copy_n(found.begin(), k, y + r * k); }
}
"""


def forward(self, x):
    y = torch.empty(x.shape[0], 8)
    if x.shape[1] < 8:
        raise ValueError("fewer than eight values a row")
    lib.run(x, y, x.shape[0], x.shape[1], 8)
    return y
