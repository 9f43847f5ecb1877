# problem: D_linear_attention
# about: chunks of 32 steps: within a chunk the products, before it the running state; linear in the number of steps

cpp = r"""
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>
static inline float positive(float v) { return v > 0 ? v + 1 : std::exp(v); }
extern "C" void run(const float* q, const float* k, const float* v, float* y, int64_t heads, int64_t steps, int64_t d, int64_t e) {
  constexpr int64_t C = 32;
  #pragma omp parallel
  {
    std::vector<float> state(d * e), sums(d), a(C * d), b(C * d);
    #pragma omp for
    for (int64_t h = 0; h < heads; ++h) {
      std::fill(state.begin(), state.end(), 0.0f); std::fill(sums.begin(), sums.end(), 0.0f);
      for (int64_t first = 0; first < steps; first += C) {
        const int64_t n = std::min(C, steps - first);
        const float *own = q + (h * steps + first) * d, *key = k + (h * steps + first) * d, *value = v + (h * steps + first) * e;
        for (int64_t i = 0; i < n * d; ++i) { a[i] = positive(own[i]); b[i] = positive(key[i]); }
        for (int64_t t = 0; t < n; ++t) {
          float* to = y + (h * steps + first + t) * e; const float* row = a.data() + t * d; float total = 0;
          for (int64_t j = 0; j < e; ++j) to[j] = 0;
          for (int64_t i = 0; i < d; ++i) {
            const float f = row[i], *s = state.data() + i * e; total += f * sums[i];
            #pragma omp simd
            for (int64_t j = 0; j < e; ++j) to[j] += f * s[j];
          }
          for (int64_t u = 0; u <= t; ++u) {
            float weight = 0; const float *other = b.data() + u * d, *from = value + u * e;
            #pragma omp simd reduction(+ : weight)
            for (int64_t i = 0; i < d; ++i) weight += row[i] * other[i];
            total += weight;
            #pragma omp simd
            for (int64_t j = 0; j < e; ++j) to[j] += weight * from[j];
          }
          const float by = total + 1e-6f;
          for (int64_t j = 0; j < e; ++j) to[j] /= by;
        }
        for (int64_t u = 0; u < n; ++u) for (int64_t i = 0; i < d; ++i) {
          const float f = b[u * d + i]; float* s = state.data() + i * e; const float* from = value + u * e; sums[i] += f;
          #pragma omp simd
          for (int64_t j = 0; j < e; ++j) s[j] += f * from[j];
        }
      }
    }
  }
}
"""


def forward(self, q, k, v):
    if q.dim() != 4 or k.shape != q.shape or v.dim() != 4 or v.shape[:3] != q.shape[:3]:
        raise ValueError("queries, keys and values of one number of heads and steps")
    b, h, t, d = q.shape
    y = torch.empty(v.shape)
    lib.run(q.contiguous(), k.contiguous(), v.contiguous(), y, b * h, t, d, v.shape[3])
    return y
