# problem: sorted_values
# about: sorts each row by the library's sort
# forward: rows

cpp = r"""
#include <algorithm>
#include <cstdint>
#include <cstring>
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  memcpy(y, x, rows * n * sizeof(float));
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) std::sort(y + r * n, y + (r + 1) * n);
}
"""
