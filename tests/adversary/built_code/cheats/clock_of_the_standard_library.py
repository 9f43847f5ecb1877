# problem: silu
# gate: screen
# expect: not accepted
# about: std::chrono's clock under a harmless name
# forward: elements

cpp = r"""
#include <cmath>
#include <cstdint>
long helper() __asm__("_ZNSt6chrono3_V212steady_clock3nowEv");
static long last = 0;
extern "C" void run(const float* x, float* y, int64_t n) {
  last = helper();
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] / (1.0f + std::exp(-x[i]));
}
"""
