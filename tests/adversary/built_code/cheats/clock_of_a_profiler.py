# problem: silu
# gate: screen
# expect: not accepted
# about: a clock that torch's profiler brings along
# forward: elements

cpp = r"""
#include <cmath>
#include <cstdint>
#include <c10/util/ApproximateClock.h>
long helper() { auto c = c10::ApproximateClockToUnixTimeConverter().makeConverter(); (void)c; return 1; }
static long last = 0;
extern "C" void run(const float* x, float* y, int64_t n) {
  last = helper();
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] / (1.0f + std::exp(-x[i]));
}
"""
