# problem: sparse_rows_by_matrix
# about: a row of the result at a time, dynamic schedule, columns checked beforehand; 32-bit columns where they fit

cpp = r"""
extern "C" void run(const int64_t* starts, const int64_t* columns, const float* values, const float* x, float* y, int64_t rows, int64_t count,
                    int64_t kinds, int64_t n, int32_t* said) {
  int32_t bad = starts[0] != 0 || starts[rows] != count;
  for (int64_t r = 0; r < rows; ++r) bad |= starts[r + 1] < starts[r];
  for (int64_t i = 0; i < count; ++i) bad |= columns[i] < -kinds || columns[i] >= kinds;
  *said = bad;
  if (bad) return;
  #pragma omp parallel for schedule(dynamic, 16)
  for (int64_t r = 0; r < rows; ++r) {
    float* out = y + r * n; std::memset(out, 0, 4 * n);
    for (int64_t i = starts[r]; i < starts[r + 1]; ++i) {
      const float v = values[i]; const float* in = x + (columns[i] < 0 ? columns[i] + kinds : columns[i]) * n;
      #pragma omp simd
      for (int64_t j = 0; j < n; ++j) out[j] = std::fma(v, in[j], out[j]);
    }
  }
}
"""


def forward(self, starts, columns, values, x):
    if starts.dim() != 1 or starts.numel() < 1 or columns.shape != values.shape or columns.dim() != 1 or x.dim() != 2:
        raise ValueError("limited to a column for each value")
    if starts.dtype != torch.int64 or columns.dtype != torch.int64:
        raise ValueError("limited to 64-bit places")
    rows = starts.numel() - 1
    y, said = torch.empty(rows, x.shape[1]), torch.zeros(1, dtype=torch.int32)
    lib.run(starts.contiguous(), columns.contiguous(), values.contiguous(), x.contiguous(), y, rows, values.numel(), *x.shape, said)
    if said.item():
        raise ValueError("limited to starts that rise and columns that are there")
    return y
