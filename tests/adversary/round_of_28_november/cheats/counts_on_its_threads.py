# problem: relu
# about: divides the work among as many threads as there could be, of which it may get fewer
# forward: elements

cpp = r"""
#include <cmath>
#include <cstdint>
#include <omp.h>
extern "C" void run(const float* x, float* y, int64_t n) {
  int threads = omp_get_max_threads();
  int64_t each = (n + threads - 1) / threads;
  #pragma omp parallel
  {
    int64_t begin = omp_get_thread_num() * each, end = begin + each < n ? begin + each : n;
    for (int64_t i = begin; i < end; ++i) y[i] = x[i] < 0.0f ? 0.0f : x[i];
  }
}
"""
