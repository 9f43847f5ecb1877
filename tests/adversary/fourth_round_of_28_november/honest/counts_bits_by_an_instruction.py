# problem: D_overlaps_of_bit_sets
# about: population counts by the instruction for it, in 32-bit sums while they fit; the union follows from counts of rows

cpp = r"""
#include <bit>
#include <cstdint>
#include <vector>
template <typename C>
static void overlaps(const uint64_t* a, const uint64_t* b, int64_t* shared, int64_t* either, int64_t n, int64_t m, int64_t words) {
  std::vector<int64_t> of_b(m);
  for (int64_t j = 0; j < m; ++j) { int64_t sum = 0; for (int64_t k = 0; k < words; ++k) sum += std::popcount(b[j * words + k]); of_b[j] = sum; }
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) {
    int64_t own = 0;
    for (int64_t k = 0; k < words; ++k) own += std::popcount(a[i * words + k]);
    for (int64_t j = 0; j < m; ++j) {
      C sum = 0;
      for (int64_t k = 0; k < words; ++k) sum += (C)std::popcount(a[i * words + k] & b[j * words + k]);
      shared[i * m + j] = sum; either[i * m + j] = own + of_b[j] - (int64_t)sum;
    }
  }
}
extern "C" void run(const uint64_t* a, const uint64_t* b, int64_t* shared, int64_t* either, int64_t n, int64_t m, int64_t words) {
  if (words < (1 << 24)) overlaps<uint32_t>(a, b, shared, either, n, m, words); else overlaps<uint64_t>(a, b, shared, either, n, m, words);
}
"""


def forward(self, one, other):
    if one.dtype != torch.int64 or other.dtype != torch.int64 or one.dim() != 2 or other.dim() != 2 or one.shape[1] != other.shape[1]:
        raise ValueError("two matrices of int64 with as many words a row")
    n, m = one.shape[0], other.shape[0]
    shared, either = torch.empty(n, m, dtype=torch.int64), torch.empty(n, m, dtype=torch.int64)
    lib.run(one.contiguous(), other.contiguous(), shared, either, n, m, one.shape[1])
    return shared, either
