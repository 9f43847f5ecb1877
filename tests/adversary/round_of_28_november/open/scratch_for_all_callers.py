# problem: softmax
# about: keeps what it needs meanwhile in one place for all threads that call it
# forward: rows

cpp = r"""
#include <cmath>
#include <cstdint>
#include <vector>
static std::vector<float> most, sum;
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  most.resize(rows); sum.resize(rows);
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    float m = -INFINITY; for (int64_t j = 0; j < n; ++j) m = fmaxf(m, x[r * n + j]);
    most[r] = m; float s = 0.0f; for (int64_t j = 0; j < n; ++j) s += expf(x[r * n + j] - m);
    sum[r] = s;
  }
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) for (int64_t j = 0; j < n; ++j) y[r * n + j] = expf(x[r * n + j] - most[r]) / sum[r];
}
"""
