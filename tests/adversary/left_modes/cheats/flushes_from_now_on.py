# problem: odd_relu
# gate: integrity
# about: has denormal numbers flushed to zero, and leaves it at that
# forward: elements

cpp = r"""
#include <cfenv>
#include <cstdint>
#include <immintrin.h>
extern "C" void run(const float* x, float* y, int64_t n) {
  _mm_setcsr(_mm_getcsr() | 0x8040);
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] > 0.0f ? x[i] : 0.0f;
}
"""
