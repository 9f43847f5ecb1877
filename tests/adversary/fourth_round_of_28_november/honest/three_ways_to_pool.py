# problem: D_bags_by_a_name
# about: one function for each name of the mode; empty bags are zeros, and other names are refused

cpp = r"""
#include <cstdint>
template <int mode>
static void pooled(const int64_t* ids, const int64_t* offsets, const float* table, float* y, int64_t n, int64_t bags, int64_t d) {
  #pragma omp parallel for schedule(dynamic, 16)
  for (int64_t b = 0; b < bags; ++b) {
    const int64_t first = offsets[b], last = b + 1 < bags ? offsets[b + 1] : n;
    float* to = y + b * d;
    for (int64_t j = 0; j < d; ++j) to[j] = 0;
    for (int64_t i = first; i < last; ++i) {
      const float* from = table + ids[i] * d;
      #pragma omp simd
      for (int64_t j = 0; j < d; ++j) {
        if constexpr (mode == 2) to[j] = i == first || from[j] > to[j] ? from[j] : to[j]; else to[j] += from[j];
      }
    }
    if (mode == 1 && last > first) for (int64_t j = 0; j < d; ++j) to[j] /= (float)(last - first);
  }
}
extern "C" void run(const int64_t* ids, const int64_t* offsets, const float* table, float* y, int64_t n, int64_t bags, int64_t rows, int64_t d,
                    int64_t mode, int32_t* bad) {
  bool wrong = bags > 0 && offsets[0] != 0;
  for (int64_t b = 0; b < bags; ++b) wrong |= (b + 1 < bags ? offsets[b + 1] : n) < offsets[b];
  for (int64_t i = 0; i < n; ++i) wrong |= ids[i] < 0 || ids[i] >= rows;
  if (wrong) { *bad = 1; return; }
  if (mode == 0) pooled<0>(ids, offsets, table, y, n, bags, d);
  else if (mode == 1) pooled<1>(ids, offsets, table, y, n, bags, d);
  else pooled<2>(ids, offsets, table, y, n, bags, d);
}
"""

MODES = {"sum": 0, "mean": 1, "max": 2}


def __init__(self, rows, d):
    self.table = torch.nn.Parameter(torch.randn(rows, d))


def forward(self, ids, offsets, mode="mean"):
    if mode not in MODES:
        raise ValueError(f"one of {', '.join(MODES)}")
    if ids.dim() != 1 or offsets.dim() != 1 or ids.dtype != torch.int64 or offsets.dtype != torch.int64:
        raise ValueError("two vectors of int64")
    y, bad = torch.empty(offsets.shape[0], self.table.shape[1]), torch.zeros(1, dtype=torch.int32)
    lib.run(ids.contiguous(), offsets.contiguous(), self.table, y, ids.shape[0], offsets.shape[0], *self.table.shape, MODES[mode], bad)
    if bad.item():
        raise IndexError("offsets or ids are out of range")
    return y
