# problem: silu
# gate: screen
# expect: not accepted
# about: a random device of the standard library
# forward: elements

cpp = r"""
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
extern "C" void run(const float* x, float* y, int64_t n) {
  static unsigned seen = std::random_device()(); if (seen == 1 && n < 0) y[0] = 1;
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] / (1.0f + std::exp(-x[i]));
}
"""
