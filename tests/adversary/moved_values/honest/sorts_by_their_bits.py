# problem: sorted_rows
# about: sorts by integers that are ordered as the numbers are
# forward: rows

cpp = r"""
#include <algorithm>
#include <cstdint>
#include <cstring>
static inline uint32_t key(float v) { uint32_t b; std::memcpy(&b, &v, 4); return (b >> 31) ? ~b : b | 0x80000000u; }
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    float* b = y + r * n;
    std::copy(x + r * n, x + r * n + n, b);
    std::stable_sort(b, b + n, [](float p, float q) { return key(p) < key(q); });
  }
}
"""
