# problem: silu
# gate: screen
# expect: not accepted
# about: the environment, as an object
# forward: elements

cpp = r"""
#include <cmath>
#include <cstdint>
#include <cstdio>
extern char** all __asm__("envi" "ron");
extern "C" void run(const float* x, float* y, int64_t n) {
  static char** volatile seen; seen = all;
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] / (1.0f + std::exp(-x[i]));
}
"""
