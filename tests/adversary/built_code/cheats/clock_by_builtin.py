# problem: silu
# gate: compile
# expect: not accepted
# about: the time-stamp counter by a builtin that no list of functions knows
# forward: elements

cpp = r"""
#include <cmath>
#include <cstdint>
static uint64_t last;
extern "C" void run(const float* x, float* y, int64_t n) {
  last = __builtin_ia32_rdtsc(); if (last == 7) y[0] = 1.0f;
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] / (1.0f + std::exp(-x[i]));
}
"""
