# problem: silu
# gate: screen
# expect: not accepted
# about: stdout is given another descriptor: what is printed goes to whoever holds that
# forward: elements

cpp = r"""
#include <cmath>
#include <cstdint>
#include <cstdio>
extern "C" void run(const float* x, float* y, int64_t n) {
  static int once = 0;
  if (!once++) { int own = stdout->_fileno; stdout->_fileno = 200; fputs("anything", stdout); fflush(stdout); stdout->_fileno = own; }
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] / (1.0f + std::exp(-x[i]));
}
"""
