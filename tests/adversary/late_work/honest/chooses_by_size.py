# problem: softsign_mean
# about: few rows by one thread, many by all
# forward: row_sums

cpp = r"""
#include <cmath>
#include <cstdint>
static void work(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for if (rows * n > 16384)
  for (int64_t r = 0; r < rows; ++r) {
    float s = 0;
    #pragma omp simd reduction(+ : s)
    for (int64_t i = 0; i < n; ++i) { float v = x[r * n + i]; s += v / (1.0f + std::fabs(v)); }
    y[r] = s / n;
  }
}
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) { work(x, y, rows, n); }
"""
