# problem: d_rows_in_order
# about: right everywhere, and quadratic on rows that are in order already
# forward: rows

cpp = r"""
#include <algorithm>
#include <cmath>
#include <cstdint>
static inline bool less(float a, float b) { return a < b || (b != b && a == a); }
static void sort_part(float* a, int64_t n) {
  while (n > 16) {
    const float p = a[0]; int64_t lo = 0, eq = 1;
    for (int64_t i = 1; i < n; ++i) {
      const float v = a[i];
      if (less(v, p)) { a[i] = a[eq]; a[eq] = a[lo]; a[lo] = v; ++lo; ++eq; }
      else if (!less(p, v)) { a[i] = a[eq]; a[eq] = v; ++eq; }
    }
    if (lo < n - eq) { sort_part(a, lo); a += eq; n -= eq; }
    else { sort_part(a + eq, n - eq); n = lo; }
  }
  for (int64_t i = 1; i < n; ++i) { float v = a[i]; int64_t j = i; for (; j > 0 && less(v, a[j - 1]); --j) a[j] = a[j - 1]; a[j] = v; }
}
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) { for (int64_t i = 0; i < n; ++i) y[r * n + i] = x[r * n + i]; sort_part(y + r * n, n); }
}
"""
