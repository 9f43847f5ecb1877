# problem: middle_of_each_row
# about: finds the middle bit by bit, by whole numbers in the order of floats
# forward: row_sums

cpp = r"""
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>
static uint32_t key(float x) {
  uint32_t u;
  memcpy(&u, &x, 4);
  return u & 0x80000000u ? ~u : u | 0x80000000u;
}
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    std::vector<uint32_t> left(n), next;
    for (int64_t j = 0; j < n; ++j) left[j] = key(x[r * n + j]);
    int64_t k = n / 2;
    uint32_t found = left.empty() ? 0 : left[0];
    for (int bit = 31; bit >= 0 && left.size() > 1; --bit) {
      int64_t zeros = 0;
      for (uint32_t u : left) zeros += !(u >> bit & 1);
      const uint32_t want = k >= zeros;
      if (want) k -= zeros;
      next.clear();
      for (uint32_t u : left) if ((u >> bit & 1) == want) next.push_back(u);
      left.swap(next);
      found = left[0];
    }
    found = found & 0x80000000u ? found & 0x7fffffffu : ~found;
    memcpy(y + r, &found, 4);
  }
}
"""
