# problem: window_attention
# about: computes the scores inside of the window only, and refuses a window of none

cpp = r"""
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>
extern "C" void run(const float* q, const float* k, const float* v, float* y, int64_t batch, int64_t steps, int64_t d, int64_t window, double given) {
  const float scale = (float)given;
  #pragma omp parallel
  {
    std::vector<float> p(window < steps ? window : steps);
    #pragma omp for collapse(2)
    for (int64_t b = 0; b < batch; ++b) for (int64_t t = 0; t < steps; ++t) {
      const float *a = q + (b * steps + t) * d, *ks = k + b * steps * d, *vs = v + b * steps * d; float* out = y + (b * steps + t) * d;
      const int64_t begin = t - window + 1 > 0 ? t - window + 1 : 0; float top = -INFINITY, sum = 0;
      for (int64_t c = begin; c <= t; ++c) { float dot = 0;
        #pragma omp simd reduction(+ : dot)
        for (int64_t i = 0; i < d; ++i) dot += a[i] * ks[c * d + i];
        p[c - begin] = dot * scale; top = std::fmax(top, dot * scale); }
      std::memset(out, 0, 4 * d);
      for (int64_t c = begin; c <= t; ++c) { const float e = std::exp(p[c - begin] - top); sum += e;
        #pragma omp simd
        for (int64_t i = 0; i < d; ++i) out[i] += e * vs[c * d + i]; }
      const float share = 1.0f / sum;
      for (int64_t i = 0; i < d; ++i) out[i] *= share; }
  }
}
"""


def forward(self, q, k, v, window, scale=None):
    batch, steps, d = q.shape
    if k.shape != q.shape or v.shape != q.shape or window < 1:
        raise ValueError("queries, keys and values of one shape, and a window of one step or more")
    y = torch.empty(batch, steps, d)
    scale = d**-0.5 if scale is None else scale
    lib.run(q.contiguous(), k.contiguous(), v.contiguous(), y, batch, steps, d, window, scale)
    return y
