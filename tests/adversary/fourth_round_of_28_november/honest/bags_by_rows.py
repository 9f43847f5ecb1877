# problem: D_weighted_bags
# about: the backward sorts the bags' entries by row, so that each row of the table has one thread and one order of its sums

cpp = r"""
#include <cstdint>
#include <cstring>
#include <vector>
extern "C" void forward(const int64_t* ids, const float* scores, const float* table, float* y, int64_t bags, int64_t length, int64_t rows,
                        int64_t d, int32_t* bad) {
  int32_t wrong = 0;
  for (int64_t i = 0; i < bags * length; ++i) wrong |= ids[i] < 0 || ids[i] >= rows;
  if (wrong) { *bad = 1; return; }
  #pragma omp parallel for
  for (int64_t b = 0; b < bags; ++b) {
    float* to = y + b * d;
    for (int64_t j = 0; j < d; ++j) to[j] = 0;
    for (int64_t k = 0; k < length; ++k) {
      const float by = scores[b * length + k]; const float* row = table + ids[b * length + k] * d;
      #pragma omp simd
      for (int64_t j = 0; j < d; ++j) to[j] += by * row[j];
    }
  }
}
extern "C" void backward(const int64_t* ids, const float* scores, const float* table, const float* g, float* dscores, float* dtable,
                         int64_t bags, int64_t length, int64_t rows, int64_t d) {
  const int64_t n = bags * length;
  if (dscores) {
    #pragma omp parallel for
    for (int64_t i = 0; i < n; ++i) {
      const float *row = table + ids[i] * d, *own = g + i / length * d; float sum = 0;
      #pragma omp simd reduction(+ : sum)
      for (int64_t j = 0; j < d; ++j) sum += row[j] * own[j];
      dscores[i] = sum;
    }
  }
  if (!dtable) return;
  std::vector<int64_t> starts(rows + 1, 0), order(n);
  for (int64_t i = 0; i < n; ++i) ++starts[ids[i] + 1];
  for (int64_t r = 0; r < rows; ++r) starts[r + 1] += starts[r];
  std::vector<int64_t> next(starts.begin(), starts.end());
  for (int64_t i = 0; i < n; ++i) order[next[ids[i]]++] = i;
  #pragma omp parallel for schedule(static, 64)
  for (int64_t r = 0; r < rows; ++r) {
    float* to = dtable + r * d;
    for (int64_t j = 0; j < d; ++j) to[j] = 0;
    if (r == 0) continue;  // the row that pads is not trained
    for (int64_t p = starts[r]; p < starts[r + 1]; ++p) {
      const float by = scores[order[p]]; const float* own = g + order[p] / length * d;
      #pragma omp simd
      for (int64_t j = 0; j < d; ++j) to[j] += by * own[j];
    }
  }
}
"""


class Bags(torch.autograd.Function):
    @staticmethod
    def forward(ctx, ids, scores, table):
        if ids.dim() != 2 or ids.shape != scores.shape:
            raise ValueError("a score for each entry")
        ids, scores = ids.contiguous(), scores.contiguous()
        y, bad = torch.empty(ids.shape[0], table.shape[1]), torch.zeros(1, dtype=torch.int32)
        lib.forward(ids, scores, table, y, *ids.shape, *table.shape, bad)
        if bad.item():
            raise IndexError("no such row")
        ctx.save_for_backward(ids, scores, table)
        return y

    @staticmethod
    def backward(ctx, grad):
        ids, scores, table = ctx.saved_tensors
        ds = torch.empty(scores.shape) if ctx.needs_input_grad[1] else None
        dt = torch.empty(table.shape) if ctx.needs_input_grad[2] else None
        lib.backward(ids, scores, table, grad.contiguous(), ds, dt, *ids.shape, *table.shape)
        return None, ds, dt


def __init__(self, rows, d):
    self.table = torch.nn.Parameter(torch.randn(rows, d) * 0.2)


def forward(self, ids, scores):
    return Bags.apply(ids, scores, self.table)
