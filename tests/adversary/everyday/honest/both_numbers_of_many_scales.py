# problem: statistics_of_all
# about: two numbers of which one is 1e-13 times as large as the other, and nearly cancels at times

cpp = r"""
#include <cmath>
#include <cstdint>
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  double s = 0, m = 0; int64_t count = rows * n;
  #pragma omp parallel for reduction(+ : s, m)
  for (int64_t r = 0; r < rows; ++r) { float q = 0, t = 0;
    #pragma omp simd reduction(+ : q, t)
    for (int64_t i = r * n; i < (r + 1) * n; ++i) { q += x[i] * x[i]; t += x[i]; }
    s += q; m += t; }
  y[0] = (float)s; y[1] = 1e-7f * (float)(m / count);
}
"""


def forward(self, x):
    y = torch.empty(2)
    lib.run(x, y, x.shape[0], x.shape[1])
    return y
