# problem: softsign_small
# about: adds with Kahan's correction, on calls that are timed in batches
# forward: row_sums

cpp = r"""
#include <cmath>
#include <cstdint>
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; ++r) {
    float s = 0, lost = 0;
    for (int64_t i = 0; i < n; ++i) {
      const float v = x[r * n + i], term = v / (1.0f + std::fabs(v)) - lost, next = s + term;
      lost = (next - s) - term;
      s = next;
    }
    y[r] = s / n;
  }
}
"""
