# problem: softmax
# about: writes whole vectors past the end of memory of its own on the stack
# forward: rows

cpp = r"""
#include <cmath>
#include <cstdint>
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    float e[n]; const float* in = x + r * n; float m = -INFINITY, s = 0.0f;
    for (int64_t j = 0; j < n; ++j) m = fmaxf(m, in[j]);
    for (int64_t j = 0; j < n; j += 8) for (int k = 0; k < 8; ++k) e[j + k] = j + k < n ? expf(in[j + k] - m) : 0.0f;
    for (int64_t j = 0; j < n; ++j) s += e[j];
    for (int64_t j = 0; j < n; ++j) y[r * n + j] = e[j] / s;
  }
}
"""
