# problem: sorted_values
# about: splits by the last element, and calls itself once for each element of a sorted row
# forward: rows

cpp = r"""
#include <cstdint>
#include <cstring>
#include <utility>
static void sort(float* a, int64_t low, int64_t high) {
  if (low >= high) return;
  float pivot = a[high]; int64_t at = low;
  for (int64_t j = low; j < high; ++j) if (a[j] < pivot) std::swap(a[at++], a[j]);
  std::swap(a[at], a[high]);
  sort(a, low, at - 1); sort(a, at + 1, high);
}
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  memcpy(y, x, rows * n * sizeof(float));
  for (int64_t r = 0; r < rows; ++r) sort(y + r * n, 0, n - 1);
}
"""
