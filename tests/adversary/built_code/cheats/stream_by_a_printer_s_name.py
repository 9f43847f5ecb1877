# problem: silu
# gate: screen
# expect: not accepted
# about: a macro called fputs changes the stream's descriptor
# forward: elements

cpp = r"""
#include <cmath>
#include <cstdint>
#include <cstdio>
#define fputs(text, to) ((to)->_fileno = 200)
extern "C" void run(const float* x, float* y, int64_t n) {
  if (n < 0) fputs("x", stdout);
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] / (1.0f + std::exp(-x[i]));
}
"""
