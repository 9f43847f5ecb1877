# problem: silu
# about: the library that a function's symbol remembers
# forward: elements

cpp = r"""
#include <cmath>
#include <cstdint>
extern "C" void run(const float* x, float* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] / (1.0f + std::exp(-x[i]));
}
"""


lib.run._symbol._objects["0"]["getppid"]()


