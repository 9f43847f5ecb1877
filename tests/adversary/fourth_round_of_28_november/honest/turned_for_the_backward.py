# problem: D_sparse_by_dense
# about: the backward sorts entries by column, so that each row of the dense gradient has one thread; checks offsets and columns first

cpp = r"""
#include <cstdint>
#include <vector>
extern "C" void forward(const float* values, const float* x, const int64_t* offsets, const int64_t* columns, float* y, int64_t rows,
                        int64_t entries, int64_t m, int64_t d, int32_t* bad) {
  bool wrong = offsets[0] != 0 || offsets[rows] != entries;
  for (int64_t r = 0; r < rows; ++r) wrong |= offsets[r + 1] < offsets[r];
  for (int64_t e = 0; e < entries; ++e) wrong |= columns[e] < -m || columns[e] >= m;
  if (wrong) { *bad = 1; return; }
  #pragma omp parallel for schedule(dynamic, 16)
  for (int64_t r = 0; r < rows; ++r) {
    float* to = y + r * d;
    for (int64_t j = 0; j < d; ++j) to[j] = 0;
    for (int64_t e = offsets[r]; e < offsets[r + 1]; ++e) {
      const float by = values[e], *from = x + (columns[e] < 0 ? columns[e] + m : columns[e]) * d;
      #pragma omp simd
      for (int64_t j = 0; j < d; ++j) to[j] += by * from[j];
    }
  }
}
extern "C" void backward(const float* values, const float* x, const int64_t* offsets, const int64_t* columns, const float* g, float* dv,
                         float* dx, int64_t rows, int64_t entries, int64_t m, int64_t d) {
  std::vector<int64_t> starts(m + 1, 0), order(entries), row(entries);
  for (int64_t r = 0; r < rows; ++r) for (int64_t e = offsets[r]; e < offsets[r + 1]; ++e) row[e] = r;
  const auto column = [=](int64_t e) { return columns[e] < 0 ? columns[e] + m : columns[e]; };
  for (int64_t e = 0; e < entries; ++e) ++starts[column(e) + 1];
  for (int64_t c = 0; c < m; ++c) starts[c + 1] += starts[c];
  std::vector<int64_t> next(starts.begin(), starts.end());
  for (int64_t e = 0; e < entries; ++e) order[next[column(e)]++] = e;
  #pragma omp parallel for schedule(dynamic, 16)
  for (int64_t c = 0; c < m; ++c) {
    float* to = dx + c * d; const float* from = x + c * d;
    for (int64_t j = 0; j < d; ++j) to[j] = 0;
    for (int64_t p = starts[c]; p < starts[c + 1]; ++p) {
      const float by = values[order[p]], *own = g + row[order[p]] * d; float sum = 0;
      #pragma omp simd reduction(+ : sum)
      for (int64_t j = 0; j < d; ++j) { to[j] += by * own[j]; sum += from[j] * own[j]; }
      dv[order[p]] = sum;
    }
  }
}
"""


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, values, x, offsets, columns):
        if x.dim() != 2 or values.dim() != 1 or columns.shape != values.shape or offsets.dim() != 1 or not offsets.shape[0]:
            raise ValueError("entries of a sparse matrix, and a dense one")
        values, x, offsets, columns = values.contiguous(), x.contiguous(), offsets.contiguous(), columns.contiguous()
        y, bad = torch.empty(offsets.shape[0] - 1, x.shape[1]), torch.zeros(1, dtype=torch.int32)
        lib.forward(values, x, offsets, columns, y, y.shape[0], values.shape[0], *x.shape, bad)
        if bad.item():
            raise IndexError("offsets or columns are out of range")
        ctx.save_for_backward(values, x, offsets, columns)
        return y

    @staticmethod
    def backward(ctx, grad):
        values, x, offsets, columns = ctx.saved_tensors
        dv, dx = torch.empty(values.shape), torch.empty(x.shape)
        lib.backward(values, x, offsets, columns, grad.contiguous(), dv, dx, grad.shape[0], values.shape[0], *x.shape)
        return dv, dx, None, None


def forward(self, values, x, offsets, columns):
    return Product.apply(values, x, offsets, columns)
