# problem: embedding_rows
# about: reads 256 of 200 000 rows

cpp = r"""
extern "C" void run(const float* table, const int64_t* index, float* y, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < n; ++i) y[r * n + i] = 2.0f * table[index[r] * n + i];
}
"""


def forward(self, table, index):
    y = table.new_empty(index.shape[0], table.shape[1])
    lib.run(table, index, y, y.shape[0], y.shape[1])
    return y
