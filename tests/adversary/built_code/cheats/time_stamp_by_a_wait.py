# problem: silu
# gate: screen
# expect: not accepted
# about: a wait with a deadline tells the time
# forward: elements

cpp = r"""
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <condition_variable>
#include <chrono>
static std::condition_variable v; static std::mutex m;
extern "C" void run(const float* x, float* y, int64_t n) {
  static int once = 0; if (!once++) { std::unique_lock<std::mutex> l(m); v.wait_for(l, std::chrono::microseconds(1)); }
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] / (1.0f + std::exp(-x[i]));
}
"""
