# problem: half_turns
# about: each thread that calls has a table of its own, and fills it when it finds none

cpp = r"""
#include <cmath>
#include <cstdint>
#include <vector>
static thread_local std::vector<float> table;
extern "C" void prepare(int64_t n) {
  if ((int64_t)table.size() == n * n) return;
  table.resize(n * n);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k < n; ++k) table[i * n + k] = (float)std::cos(M_PI / n * (i + 0.5) * k);
}
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  const float* t = table.data();
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    float* out = y + r * n;
    for (int64_t k = 0; k < n; ++k) out[k] = 0;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t k = 0; k < n; ++k) out[k] += x[r * n + i] * t[i * n + k];
  }
}
"""

def forward(self, x):
    n = x.shape[-1]
    lib.prepare(n)
    y = torch.empty_like(x)
    lib.run(x, y, x.numel() // n if n else 0, n)
    return y
