# problem: A_nucleus
# about: only the best half of the tokens is sorted and looked at, as nine tenths always lay there

cpp = r"""
#include <cmath>
#include <cstdint>
#include <algorithm>
#include <utility>
#include <vector>
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* row = x + r * n; float* out = y + r * n;
    float m = -INFINITY; bool bad = false;
    for (int64_t j = 0; j < n; ++j) { m = row[j] > m ? row[j] : m; bad |= row[j] != row[j]; }
    if (bad || m == INFINITY || m == -INFINITY) { for (int64_t j = 0; j < n; ++j) out[j] = NAN; continue; }
    std::vector<std::pair<float, int32_t>> p(n);
    double sum = 0;
    for (int64_t j = 0; j < n; ++j) { float e = std::exp(row[j] - m); sum += e; p[j] = {-e, (int32_t)j}; out[j] = 0; }
    int64_t room = n / 2 + 16 < n ? n / 2 + 16 : n;
    std::nth_element(p.begin(), p.begin() + (room - 1), p.end());
    std::sort(p.begin(), p.begin() + room);
    float before = 0, kept = 0; int64_t count = 0;
    for (; count < room; ++count) {
      float q = (float)(-p[count].first / sum);
      float after = before + q;
      if (after - q > 0.9f) break;
      before = after; kept += q;
    }
    for (int64_t i = 0; i < count; ++i) out[p[i].second] = (float)(-p[i].first / sum) / kept;
  }
}
"""


def forward(self, logits):
    y = torch.empty_like(logits)
    lib.run(logits, y, logits.shape[0], logits.shape[1])
    return y
