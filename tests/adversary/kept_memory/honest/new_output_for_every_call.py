# problem: twice
# about: allocates its output
# forward: elements

cpp = r"""
#include <cstdint>
extern "C" void run(const float* x, float* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] < 0.0f ? 0.0f : 2.0f * x[i];
}
"""
