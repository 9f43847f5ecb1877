# problem: nucleus
# about: sorts places, sums shares in double, and stops where the share is reached

cpp = r"""
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n, double share) {
  #pragma omp parallel
  {
    std::vector<int32_t> order(n);
    #pragma omp for
    for (int64_t r = 0; r < rows; ++r) {
      const float* in = x + r * n; float* out = y + r * n;
      std::iota(order.begin(), order.end(), 0);
      std::sort(order.begin(), order.end(), [in](int32_t a, int32_t b) {
        const bool u = in[a] != in[a], v = in[b] != in[b];
        if (u || v) return u && v ? a < b : u;
        return in[a] > in[b] || (in[a] == in[b] && a < b); });
      const float top = in[order[0]]; double total = 0, before = 0; int64_t count = 0;
      for (int64_t i = 0; i < n; ++i) { out[i] = std::exp(in[i] - top); total += out[i]; }
      for (; count < n && before / total <= share; ++count) before += out[order[count]];
      for (int64_t i = 0; i < n; ++i) { const int64_t k = order[i]; out[k] = i < count ? (float)(out[k] / before) : 0.0f; }
    }
  }
}
"""


def forward(self, logits, share):
    if logits.dim() != 2 or not 0 < logits.shape[1] < 2**31 or logits.dtype != torch.float32:
        raise ValueError("limited to rows of words")
    y = torch.empty(logits.shape)
    lib.run(logits.contiguous(), y, *logits.shape, share)
    return y
