# problem: E_sampled_products
# about: threads share the entries evenly; each finds its first row by a search

cpp = r"""
#include <algorithm>
#include <cstdint>
#include <omp.h>
extern "C" void run(const float* a, const float* b, const int64_t* starts, const int64_t* columns, const float* values, float* y, int64_t rows, int64_t others, int64_t entries, int64_t d, int32_t* said) {
  if (starts[0] != 0 || starts[rows] != entries) { *said = 1; return; }
  for (int64_t r = 0; r < rows; ++r) if (starts[r + 1] < starts[r]) { *said = 1; return; }
  for (int64_t e = 0; e < entries; ++e) if (columns[e] < -others || columns[e] >= others) { *said = 1; return; }
  #pragma omp parallel
  {
    const int64_t count = omp_get_num_threads(), me = omp_get_thread_num(), begin = entries * me / count, end = entries * (me + 1) / count;
    int64_t r = std::upper_bound(starts, starts + rows + 1, begin) - starts - 1;
    for (int64_t e = begin; e < end; ++e) {
      while (starts[r + 1] <= e) ++r;
      const float *one = a + r * d, *two = b + (columns[e] < 0 ? columns[e] + others : columns[e]) * d; float sum = 0;
      #pragma omp simd reduction(+ : sum)
      for (int64_t t = 0; t < d; ++t) sum += one[t] * two[t];
      y[e] = values[e] * sum;
    }
  }
}
"""


def forward(self, a, b, starts, columns, values):
    rows = starts.shape[0] - 1
    if rows < 0 or a.shape[0] < rows or a.shape[1] != b.shape[1] or columns.shape != values.shape:
        raise ValueError("rows for each start, and a value for each column")
    y = torch.empty(values.shape)
    arguments = [one.contiguous() for one in (a, b, starts, columns, values)]
    said = torch.zeros(1, dtype=torch.int32)
    lib.run(*arguments, y, rows, b.shape[0], values.shape[0], a.shape[1], said)
    if said.item():
        raise ValueError("no such sparse matrix")
    return y
