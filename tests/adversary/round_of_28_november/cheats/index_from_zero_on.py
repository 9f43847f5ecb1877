# problem: rows_by_index
# about: reads in front of the table for indices that count from its end

cpp = r"""
extern "C" void run(const float* t, const int64_t* index, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) for (int64_t j = 0; j < n; ++j) y[r * n + j] = 2.0f * t[index[r] * n + j];
}
"""


def forward(self, table, index):
    y = torch.empty(index.shape[0], table.shape[1])
    lib.run(table, index, y, y.shape[0], y.shape[1])
    return y
