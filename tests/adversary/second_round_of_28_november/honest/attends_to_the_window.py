# problem: attention_with_slopes
# about: online softmax over the window's keys only; queries of a group read the same keys

cpp = r"""
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>
extern "C" void run(const float* q, const float* k, const float* v, const float* slopes, float* y, int64_t batch, int64_t heads, int64_t kept,
                    int64_t rows, int64_t d, int64_t window) {
  const float scale = 1.0f / std::sqrt((float)d);
  #pragma omp parallel
  {
    std::vector<float> sum(d);
    #pragma omp for collapse(3)
    for (int64_t b = 0; b < batch; ++b) for (int64_t h = 0; h < heads; ++h) for (int64_t i = 0; i < rows; ++i) {
      const int64_t g = h / (heads / kept), begin = i - window + 1 > 0 ? i - window + 1 : 0;
      const float* a = q + ((b * heads + h) * rows + i) * d; float top = -INFINITY, total = 0;
      std::fill(sum.begin(), sum.end(), 0.0f);
      for (int64_t j = begin; j <= i; ++j) {
        const float *key = k + ((b * kept + g) * rows + j) * d, *value = v + ((b * kept + g) * rows + j) * d; float dot = 0;
        #pragma omp simd reduction(+ : dot)
        for (int64_t t = 0; t < d; ++t) dot += a[t] * key[t];
        const float score = dot * scale - slopes[h] * (float)(i - j);
        if (score > top) {
          const float less = std::exp(top - score); total *= less; top = score;
          for (int64_t t = 0; t < d; ++t) sum[t] *= less;
        }
        const float e = std::exp(score - top); total += e;
        #pragma omp simd
        for (int64_t t = 0; t < d; ++t) sum[t] += e * value[t];
      }
      for (int64_t t = 0; t < d; ++t) y[((b * heads + h) * rows + i) * d + t] = sum[t] / total;
    }
  }
}
"""


def __init__(self, window):
    self.window = window


def forward(self, q, k, v, slopes):
    batch, heads, rows, d = q.shape
    kept = k.shape[1]
    if k.shape != (batch, kept, rows, d) or v.shape != k.shape or kept < 1 or heads % kept or slopes.shape != (heads,):
        raise ValueError("limited to as many keys as queries, and heads that share them evenly")
    y = torch.empty(q.shape)
    lib.run(q.contiguous(), k.contiguous(), v.contiguous(), slopes.contiguous(), y, batch, heads, kept, rows, d, self.window)
    return y
