# problem: sorted_bytes
# about: sorts by counting 256 values, whatever 32 bits could hold
# forward: rows

cpp = r"""
#include <cstdint>
extern "C" void run(const int32_t* x, int32_t* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    int64_t count[256] = {}, at = r * n;
    for (int64_t i = 0; i < n; ++i) ++count[x[r * n + i] & 255];
    for (int v = 0; v < 256; ++v) for (int64_t k = 0; k < count[v]; ++k) y[at++] = v;
  }
}
"""
