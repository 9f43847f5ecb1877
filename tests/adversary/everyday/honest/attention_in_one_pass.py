# problem: grouped_attention
# about: causal attention by an online softmax; keys and values by their strides, of which one is zero

cpp = r"""
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void run(const float* q, const float* k, const float* v, float* y, int64_t b, int64_t g, int64_t h, int64_t t, int64_t d, int64_t l,
                    int64_t kb, int64_t kg, int64_t kh, int64_t kt, int64_t vb, int64_t vg, int64_t vh, int64_t vt) {
  float scale = 1.0f / std::sqrt((float)d);
  #pragma omp parallel for collapse(3)
  for (int64_t i = 0; i < b; ++i) for (int64_t j = 0; j < g; ++j) for (int64_t o = 0; o < h; ++o) {
    std::vector<float> sum(d);
    for (int64_t p = 0; p < t; ++p) {
      const float* row = q + (((i * g + j) * h + o) * t + p) * d; float* out = y + (((i * g + j) * h + o) * t + p) * d;
      float top = -INFINITY, total = 0; for (auto& one : sum) one = 0;
      for (int64_t s = 0; s <= p && s < l; ++s) {
        const float* key = k + i * kb + j * kg + o * kh + s * kt; const float* value = v + i * vb + j * vg + o * vh + s * vt;
        float dot = 0;
        #pragma omp simd reduction(+ : dot)
        for (int64_t c = 0; c < d; ++c) dot += row[c] * key[c];
        dot *= scale;
        if (dot > top) { float shrink = std::exp(top - dot); total *= shrink; for (auto& one : sum) one *= shrink; top = dot; }
        float w = std::exp(dot - top); total += w;
        for (int64_t c = 0; c < d; ++c) sum[c] += w * value[c];
      }
      for (int64_t c = 0; c < d; ++c) out[c] = sum[c] / total;
    }
  }
}
"""


def forward(self, q, k, v):
    if q.dim() != 5 or k.shape != v.shape or k.shape[:3] != q.shape[:3]:
        raise ValueError("q, k and v of five dimensions with the same batch, groups and heads are expected")
    q = q.contiguous()
    k, v = (one if one.stride(-1) == 1 else one.contiguous() for one in (k, v))
    y = torch.empty_like(q)
    lib.run(q, k.data_ptr(), v.data_ptr(), y, *q.shape, k.shape[3], *k.stride()[:4], *v.stride()[:4])
    return y
