# problem: softmax
# about: keeps scratch memory for each thread over calls
# forward: rows

cpp = r"""
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel
  {
    thread_local std::vector<float> scratch;
    scratch.resize(n);
    #pragma omp for
    for (int64_t r = 0; r < rows; ++r) {
      const float* a = x + r * n;
      float most = -INFINITY, sum = 0;
      for (int64_t i = 0; i < n; ++i) most = std::max(most, a[i]);
      for (int64_t i = 0; i < n; ++i) { scratch[i] = std::exp(a[i] - most); sum += scratch[i]; }
      for (int64_t i = 0; i < n; ++i) y[r * n + i] = scratch[i] / sum;
    }
  }
}
"""
