# problem: half_turns
# about: the table lies in the memory of the thread that asked for it first; another thread finds none

cpp = r"""
#include <cmath>
#include <cstdint>
#include <vector>
static thread_local std::vector<float> table(4096 * 16, 0.0f);
extern "C" void prepare(int64_t n) {
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

ready = [0]


def forward(self, x):
    n = x.shape[-1]
    if ready[0] != n:
        lib.prepare(n)
        ready[0] = n
    y = torch.empty_like(x)
    lib.run(x, y, x.numel() // n if n else 0, n)
    return y
