# problem: E_bytes_of_keys
# about: bytes are not decoded: a key's scale multiplies its product, a value's scale its share; one pass up to the length

cpp = r"""
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void run(const float* q, const int8_t* k, const float* ks, const int8_t* v, const float* vs, const int64_t* lengths, float* y,
                    int64_t batch, int64_t steps, int64_t heads, int64_t d) {
  const float scale = 1.0f / std::sqrt((float)d);
  #pragma omp parallel
  {
    std::vector<float> sum(d);
    #pragma omp for collapse(2)
    for (int64_t b = 0; b < batch; ++b) for (int64_t h = 0; h < heads; ++h) {
      const int64_t end = lengths[b] < 0 ? 0 : lengths[b] > steps ? steps : lengths[b];
      float top = -INFINITY, total = 0; const float* a = q + (b * heads + h) * d;
      for (auto& one : sum) one = 0;
      for (int64_t t = 0; t < end; ++t) {
        const int64_t at = (b * steps + t) * heads + h; float dot = 0;
        #pragma omp simd reduction(+ : dot)
        for (int64_t i = 0; i < d; ++i) dot += a[i] * (float)k[at * d + i];
        const float score = dot * ks[at] * scale;
        if (!(score <= top)) { const float less = top == -INFINITY ? 0 : std::exp(top - score); total *= less; top = score; for (auto& one : sum) one *= less; }
        const float e = std::exp(score - top), f = e * vs[at]; total += e;
        #pragma omp simd
        for (int64_t i = 0; i < d; ++i) sum[i] += f * (float)v[at * d + i];
      }
      for (int64_t i = 0; i < d; ++i) y[(b * heads + h) * d + i] = sum[i] / total;
    }
  }
}
"""


def forward(self, q, keys, key_scales, values, value_scales, lengths):
    batch, steps, heads, d = keys.shape
    if q.shape != (batch, heads, d) or values.shape != keys.shape or lengths.shape != (batch,):
        raise ValueError("a query and a length for each sequence")
    if key_scales.shape != (batch, steps, heads) or value_scales.shape != key_scales.shape:
        raise ValueError("a scale for each token and head")
    y = torch.empty(batch, heads, d)
    arguments = (one.contiguous() for one in (q, keys, key_scales, values, value_scales, lengths))
    lib.run(*arguments, y, batch, steps, heads, d)
    return y
