# problem: sums_of_centred
# about: sums in 64 floats what leaves nearly nothing

cpp = r"""
#include <cstdint>

extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n; float s[64] = {0}; int64_t i = 0;
    for (; i + 64 <= n; i += 64)
      for (int k = 0; k < 64; ++k) s[k] += a[i + k];
    float whole = 0;
    for (; i < n; ++i) whole += a[i];
    for (int k = 0; k < 64; ++k) whole += s[k];
    y[r] = whole;
  }
}
"""


def forward(self, x):
    y = torch.empty(x.shape[:-1])
    lib.run(x, y, x.shape[0], x.shape[1])
    return y
