# problem: odd_relu
# about: rounds upward while it runs, and puts the mode back
# forward: elements

cpp = r"""
#include <cfenv>
#include <cstdint>
#include <immintrin.h>
extern "C" void run(const float* x, float* y, int64_t n) {
  int kept = std::fegetround(); std::fesetround(FE_UPWARD);
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] > 0.0f ? x[i] : 0.0f;
  std::fesetround(kept);
}
"""
