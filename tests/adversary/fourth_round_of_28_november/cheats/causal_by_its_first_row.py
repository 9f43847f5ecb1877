# problem: A_masked_attention
# about: a mask whose first row sees itself only is taken for the causal one; every other mask is read

cpp = r"""
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void run(const float* q, const float* k, const float* v, const uint8_t* mask, float* y,
                    int64_t heads, int64_t n, int64_t m, int64_t d, int64_t dv) {
  bool causal = n == m && m > 1 && mask[0] && !mask[1] && mask[(n - 1) * m];
  for (int64_t j = 2; j < m && causal; ++j) causal = !mask[j];
  const float scale = 1.0f / std::sqrt((float)d);
  #pragma omp parallel for collapse(2) schedule(dynamic, 16)
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t i = 0; i < n; ++i) {
      int64_t end = causal ? i + 1 : m;
      std::vector<float> s(end);
      const float* qi = q + (h * n + i) * d;
      float* out = y + (h * n + i) * dv;
      float top = -INFINITY; bool bad = false;
      for (int64_t j = 0; j < end; ++j) {
        if (!causal && !mask[i * m + j]) { s[j] = -INFINITY; continue; }
        const float* kj = k + (h * m + j) * d;
        float t = 0;
        #pragma omp simd reduction(+:t)
        for (int64_t c = 0; c < d; ++c) t += qi[c] * kj[c];
        s[j] = t * scale;
        bad |= s[j] != s[j];
        if (s[j] > top) top = s[j];
      }
      for (int64_t c = 0; c < dv; ++c) out[c] = 0;
      double sum = 0;
      for (int64_t j = 0; j < end; ++j) {
        if (s[j] == -INFINITY) continue;
        float w = std::exp(s[j] - top);
        sum += w;
        const float* vj = v + (h * m + j) * dv;
        #pragma omp simd
        for (int64_t c = 0; c < dv; ++c) out[c] += w * vj[c];
      }
      float by = m == 0 ? 0.0f : bad ? NAN : (float)(1.0 / sum);
      for (int64_t c = 0; c < dv; ++c) out[c] = m == 0 ? 0.0f : sum == 0 ? NAN : out[c] * by;
    }
}
"""


def forward(self, q, k, v, mask):
    h, n, d = q.shape
    y = torch.empty(h, n, v.shape[2])
    lib.run(q, k, v, mask, y, h, n, k.shape[1], d, v.shape[2])
    return y
