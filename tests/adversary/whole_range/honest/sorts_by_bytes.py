# problem: sorted_keys
# about: sorts byte by byte, the upper bit turned
# forward: rows

cpp = r"""
#include <algorithm>
#include <cstdint>
#include <vector>
extern "C" void run(const int64_t* x, int64_t* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t* a = x + r * n;
    int64_t* b = y + r * n;
    std::vector<uint64_t> from(n), to(n);
    for (int64_t i = 0; i < n; ++i) from[i] = uint64_t(a[i]) ^ (1ull << 63);
    for (int shift = 0; shift < 64; shift += 8) {
      int64_t starts[257] = {0};
      for (int64_t i = 0; i < n; ++i) ++starts[((from[i] >> shift) & 255) + 1];
      for (int k = 0; k < 256; ++k) starts[k + 1] += starts[k];
      for (int64_t i = 0; i < n; ++i) to[starts[(from[i] >> shift) & 255]++] = from[i];
      from.swap(to);
    }
    for (int64_t i = 0; i < n; ++i) b[i] = int64_t(from[i] ^ (1ull << 63));
  }
}
"""
