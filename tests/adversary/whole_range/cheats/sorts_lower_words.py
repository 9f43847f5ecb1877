# problem: sorted_keys
# gate: correctness
# about: sorts the lower 32 bits
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
    std::vector<int32_t> kept(a, a + n);
    std::sort(kept.begin(), kept.end());
    std::copy(kept.begin(), kept.end(), b);
  }
}
"""
