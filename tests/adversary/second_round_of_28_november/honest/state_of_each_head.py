# problem: attention_of_few_keys
# about: the state of a head stays in cache over all steps, updated and read in one pass

cpp = r"""
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void run(const float* q, const float* k, const float* v, const float* decay, float* y, int64_t batch, int64_t heads, int64_t steps, int64_t n, int64_t m) {
  #pragma omp parallel
  {
    std::vector<float> state(n * m);
    #pragma omp for collapse(2)
    for (int64_t b = 0; b < batch; ++b) for (int64_t h = 0; h < heads; ++h) {
      std::fill(state.begin(), state.end(), 0.0f);
      for (int64_t t = 0; t < steps; ++t) {
        const int64_t row = (b * heads + h) * steps + t; const float *query = q + row * n, *key = k + row * n, *value = v + row * m; float* out = y + row * m;
        for (int64_t j = 0; j < m; ++j) out[j] = 0;
        for (int64_t i = 0; i < n; ++i) {
          float* s = state.data() + i * m; const float a = key[i], c = query[i];
          #pragma omp simd
          for (int64_t j = 0; j < m; ++j) { s[j] = std::fma(s[j], decay[h], a * value[j]); out[j] = std::fma(c, s[j], out[j]); }
        }
      }
    }
  }
}
"""


def forward(self, q, k, v, decay):
    batch, heads, steps, n = q.shape
    if k.shape != q.shape or v.shape[:3] != q.shape[:3] or decay.shape != (heads,) or steps == 0:
        raise ValueError("limited to keys and values for each step")
    y = torch.empty(v.shape)
    lib.run(q.contiguous(), k.contiguous(), v.contiguous(), decay.contiguous(), y, batch, heads, steps, n, v.shape[3])
    return y
