# problem: E_distances_of_words
# about: a row of distances, updated in place, which stops at the lengths

cpp = r"""
#include <algorithm>
#include <cstdint>
#include <vector>
extern "C" void run(const int64_t* a, const int64_t* b, const int64_t* al, const int64_t* bl, int64_t* y, int64_t batch, int64_t n, int64_t m, int32_t* said) {
  for (int64_t w = 0; w < batch; ++w) if (al[w] < 0 || al[w] > n || bl[w] < 0 || bl[w] > m) { *said = 1; return; }
  #pragma omp parallel
  {
    std::vector<int64_t> row(m + 1);
    #pragma omp for schedule(dynamic, 8)
    for (int64_t w = 0; w < batch; ++w) {
      const int64_t *one = a + w * n, *two = b + w * m;
      for (int64_t j = 0; j <= bl[w]; ++j) row[j] = j;
      for (int64_t i = 0; i < al[w]; ++i) {
        int64_t last = row[0]; row[0] = i + 1;
        for (int64_t j = 0; j < bl[w]; ++j) {
          const int64_t old = row[j + 1];
          row[j + 1] = std::min(std::min(old, row[j]) + 1, last + (one[i] != two[j]));
          last = old;
        }
      }
      y[w] = row[bl[w]];
    }
  }
}
"""


def forward(self, a, b, a_lengths, b_lengths):
    batch, n = a.shape
    if b.shape[0] != batch or a_lengths.shape != (batch,) or b_lengths.shape != (batch,):
        raise ValueError("a length for each word")
    y = torch.empty(batch, dtype=torch.int64)
    arguments = (one.contiguous() for one in (a, b, a_lengths, b_lengths))
    said = torch.zeros(1, dtype=torch.int32)
    lib.run(*arguments, y, batch, n, b.shape[1], said)
    if said.item():
        raise IndexError("a length is out of range")
    return y
