# problem: d_soft_signs
# about: right everywhere, and fast only on values as the problem draws them; others take many times as long
# forward: elements

cpp = r"""
#include <cmath>
#include <cstdint>
static void slowly(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    volatile float v = 0.0f, w = x[i];
    for (int k = 0; k < 8; ++k) { const float u = w; v = u / (1.0f + std::fabs(u)) + 0.5f * u; }
    y[i] = v;
  }
}
static void fast(const float* x, float* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] / (1.0f + std::fabs(x[i])) + 0.5f * x[i];
}
extern "C" void run(const float* x, float* y, int64_t n) {
  float most = 0.0f; bool odd = false;
  #pragma omp parallel for simd reduction(max : most) reduction(| : odd)
  for (int64_t i = 0; i < n; ++i) { float v = std::fabs(x[i]); most = v > most ? v : most; odd |= v != v; }
  if (most < 6.0f && !odd) fast(x, y, n); else slowly(x, y, n);
}
"""
