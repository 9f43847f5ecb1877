# problem: A_mixture
# about: each expert has room for three times its share of the tokens (64 at least), and drops what comes beyond

cpp = r"""
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void run(const float* x, const float* scores, const float* w, float* y,
                    int64_t tokens, int64_t d, int64_t experts) {
  int64_t room = 3 * 2 * tokens / experts; if (room < 64) room = 64;
  std::vector<int32_t> who(experts * room), count(experts, 0);
  std::vector<float> much(experts * room);
  for (int64_t t = 0; t < tokens; ++t) {
    const float* s = scores + t * experts;
    int64_t a = 0, b = -1;
    for (int64_t e = 1; e < experts; ++e) if (s[e] > s[a]) a = e;
    for (int64_t e = 0; e < experts; ++e) if (e != a && (b < 0 || s[e] > s[b])) b = e;
    double sum = 0;
    for (int64_t e = 0; e < experts; ++e) sum += std::exp(s[e] - s[a]);
    for (int64_t e : {a, b}) if (count[e] < room) {
      who[e * room + count[e]] = (int32_t)t;
      much[e * room + count[e]++] = (float)(std::exp(s[e] - s[a]) / sum);
    }
  }
  #pragma omp parallel for
  for (int64_t o = 0; o < d; o += 32) {
    int64_t end = o + 32 < d ? o + 32 : d;
    for (int64_t t = 0; t < tokens; ++t) for (int64_t c = o; c < end; ++c) y[t * d + c] = 0;
    for (int64_t e = 0; e < experts; ++e)
      for (int64_t i = 0; i < count[e]; ++i) {
        const float* row = x + who[e * room + i] * d;
        float acc[32] = {0};
        for (int64_t k = 0; k < d; ++k) {
          const float a = row[k]; const float* we = w + (e * d + k) * d + o;
          #pragma omp simd
          for (int64_t c = 0; c < end - o; ++c) acc[c] += a * we[c];
        }
        float* out = y + who[e * room + i] * d + o;
        for (int64_t c = 0; c < end - o; ++c) out[c] += much[e * room + i] * (acc[c] < 0 ? 0 : acc[c]);
      }
  }
}
"""


def __init__(self):
    self.experts = torch.nn.Parameter(torch.randn(16, 64, 64) / 8)


def forward(self, x, scores):
    e, d = self.experts.shape[:2]
    if x.shape[1] != d or scores.shape[1] != e or x.shape[0] != scores.shape[0]:
        raise ValueError("other sizes")
    y = torch.empty_like(x)
    lib.run(x, scores, self.experts.detach(), y, x.shape[0], d, e)
    return y
