# problem: A_retention
# about: what is more than 192 steps ago has faded, with the gates that were seen

cpp = r"""
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void run(const float* q, const float* k, const float* v, const float* gate, float* y,
                    int64_t batch, int64_t n, int64_t d, int64_t dv) {
  const int64_t STEPS = 192;
  std::vector<double> past(batch * n);
  for (int64_t b = 0; b < batch; ++b) {
    double s = 0;
    for (int64_t i = 0; i < n; ++i) {
      double g = gate[b * n + i];
      s += g < 0 ? g - std::log1p(std::exp(g)) : -std::log1p(std::exp(-g));
      past[b * n + i] = s;
    }
  }
  #pragma omp parallel for collapse(2) schedule(dynamic, 16)
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t i = 0; i < n; ++i) {
      float* out = y + (b * n + i) * dv;
      const float* qi = q + (b * n + i) * d;
      for (int64_t c = 0; c < dv; ++c) out[c] = 0;
      for (int64_t j = i < STEPS ? 0 : i - STEPS; j <= i; ++j) {
        const float* kj = k + (b * n + j) * d;
        const float* vj = v + (b * n + j) * dv;
        float s = 0;
        #pragma omp simd reduction(+:s)
        for (int64_t c = 0; c < d; ++c) s += qi[c] * kj[c];
        s *= (float)std::exp(past[b * n + i] - past[b * n + j]);
        #pragma omp simd
        for (int64_t c = 0; c < dv; ++c) out[c] += s * vj[c];
      }
    }
}
"""


def forward(self, q, k, v, gate):
    b, n, d = q.shape
    y = torch.empty(b, n, v.shape[2])
    lib.run(q, k, v, gate, y, b, n, d, v.shape[2])
    return y
