# problem: middle_of_each_row
# about: finds the middle by two rounds of 4096 bins between least and largest; 1e30 (nothing measured) leaves one bin
# forward: row_sums

cpp = r"""
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>
static float middle(const float* a, int64_t n, int64_t k) {
  double low = a[0], high = a[0];
  for (int64_t j = 1; j < n; ++j) { low = a[j] < low ? a[j] : low; high = a[j] > high ? a[j] : high; }
  for (int round = 0; round < 2 && high > low; ++round) {
    std::vector<int32_t> counts(4097, 0);
    double scale = 4096.0 / (high - low);
    for (int64_t j = 0; j < n; ++j) if (a[j] >= low && a[j] <= high) ++counts[(int)((a[j] - low) * scale)];
    int bin = 0;
    while (bin < 4096 && k >= counts[bin]) k -= counts[bin++];
    float least = INFINITY, most = -INFINITY;
    for (int64_t j = 0; j < n; ++j) if (a[j] >= low && a[j] <= high && (int)((a[j] - low) * scale) == bin) {
      least = a[j] < least ? a[j] : least;
      most = a[j] > most ? a[j] : most;
    }
    low = least, high = most;
  }
  float kept[256];
  int64_t count = 0;
  for (int64_t j = 0; j < n && count < 256; ++j) if (a[j] >= low && a[j] <= high) kept[count++] = a[j];
  k = k < count ? k : count - 1;
  std::nth_element(kept, kept + k, kept + count);
  return kept[k];
}
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) y[r] = middle(x + r * n, n, n / 2);
}
"""
