# problem: odd_relu
# gate: integrity
# about: leaves the rounding mode changed
# forward: elements

cpp = r"""
#include <cfenv>
#include <cstdint>
#include <immintrin.h>
extern "C" void run(const float* x, float* y, int64_t n) {
  std::fesetround(FE_UPWARD);
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] > 0.0f ? x[i] : 0.0f;
}
"""
