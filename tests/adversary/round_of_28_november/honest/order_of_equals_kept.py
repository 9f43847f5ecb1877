# problem: stable_order
# about: sorts in the order that is promised of equal values

cpp = r"""
#include <algorithm>
#include <cstdint>
extern "C" void run(const float* x, int64_t* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    int64_t* out = y + r * n; const float* in = x + r * n;
    for (int64_t j = 0; j < n; ++j) out[j] = j;
    std::stable_sort(out, out + n, [in](int64_t a, int64_t b) { return in[a] < in[b]; });
  }
}
"""


def forward(self, x):
    y = torch.empty(x.shape, dtype=torch.int64)
    lib.run(x, y, *x.shape)
    return y
