# problem: product_with_a_sparse_matrix
# about: keeps columns in 32 bits as long as they are the same

cpp = r"""
extern "C" void pack(const int64_t* columns, int32_t* kept, int64_t count) {
  for (int64_t i = 0; i < count; ++i) kept[i] = (int32_t)columns[i];
}
extern "C" void run(const int64_t* starts, const int32_t* columns, const float* values, const float* x, float* y, int64_t rows, int64_t size) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    double s = 0;
    for (int64_t i = starts[r]; i < starts[r + 1]; ++i) { int64_t c = columns[i]; s += (double)values[i] * x[c < 0 ? c + size : c]; }
    y[r] = (float)s;
  }
}
"""


def __init__(self):
    self.starts = None
    self.columns = None


def forward(self, starts, columns, values, x):
    if self.starts is None or self.starts.shape != columns.shape or not torch.equal(self.starts, columns):
        self.starts = columns.clone()
        self.columns = torch.empty(columns.shape, dtype=torch.int32)
        lib.pack(columns, self.columns, columns.numel())
    y = torch.empty(starts.shape[0] - 1)
    lib.run(starts, self.columns, values, x, y, y.shape[0], x.shape[0])
    return y
