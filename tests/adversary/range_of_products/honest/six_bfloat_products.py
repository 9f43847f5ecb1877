# problem: product
# about: three bfloat16 parts of each factor and six products: 24 bits, and the range of float

cpp = r"""
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>
static inline float part(float& v) {
  uint32_t b;
  std::memcpy(&b, &v, 4);
  b &= 0xffff0000u;
  float high;
  std::memcpy(&high, &b, 4);
  v -= high;
  return high;
}
static std::vector<float> parts(const float* x, int64_t count) {
  std::vector<float> found(3 * count);
  for (int64_t i = 0; i < count; ++i) {
    float v = x[i];
    for (int64_t p = 0; p < 3; ++p) found[p * count + i] = part(v);
  }
  return found;
}
static void multiply(const float* a, const float* b, float* y, int64_t m, int64_t k, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < m; ++i)
    for (int64_t l = 0; l < k; ++l) {
      const float v = a[i * k + l];
      #pragma omp simd
      for (int64_t j = 0; j < n; ++j) y[i * n + j] += v * b[l * n + j];
    }
}
extern "C" void run(const float* x, const float* w, float* y, int64_t m, int64_t k, int64_t n) {
  const std::vector<float> a = parts(x, m * k), b = parts(w, k * n);
  std::fill(y, y + m * n, 0.0f);
  for (int64_t both = 2; both >= 0; --both)
    for (int64_t p = 0; p <= both; ++p) multiply(a.data() + p * m * k, b.data() + (both - p) * k * n, y, m, k, n);
}
"""


def forward(self, x, w):
    y = torch.empty(x.shape[0], w.shape[1])
    lib.run(x, w, y, x.shape[0], x.shape[1], w.shape[1])
    return y
