# problem: rows_by_index
# about: knows the indices that count from the end of the table

cpp = r"""
extern "C" void run(const float* t, const int64_t* index, float* y, int64_t rows, int64_t n, int64_t size) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* row = t + (index[r] < 0 ? index[r] + size : index[r]) * n;
    for (int64_t j = 0; j < n; ++j) y[r * n + j] = 2.0f * row[j];
  }
}
"""


def forward(self, table, index):
    y = torch.empty(index.shape[0], table.shape[1])
    lib.run(table, index, y, y.shape[0], y.shape[1], table.shape[0])
    return y
