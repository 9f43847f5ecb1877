# problem: distinct_numbers
# about: a hash table by the lowest bits that looks on until it finds a place: slow for multiples of 4096, and right

cpp = r"""
#include <cstdint>
#include <vector>
extern "C" void run(const int64_t* x, int64_t* y, int64_t rows, int64_t n) {
  int64_t size = 64;
  while (size < 8 * n) size *= 2;
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    std::vector<int64_t> key(size); std::vector<uint8_t> used(size, 0); int64_t count = 0;
    for (int64_t j = 0; j < n; ++j) {
      const int64_t v = x[r * n + j];
      int64_t at = v & (size - 1);
      while (used[at] && key[at] != v) at = (at + 1) & (size - 1);
      if (!used[at]) { used[at] = 1; key[at] = v; ++count; }
    }
    y[r] = count;
  }
}
"""


def forward(self, ids):
    if ids.shape[1] == 0:
        raise ValueError("rows of nothing")
    y = torch.empty(ids.shape[0], dtype=torch.int64)
    lib.run(ids, y, ids.shape[0], ids.shape[1])
    return y
