# problem: add_to_some_rows
# about: adds one update after the other, so that a row may have several

cpp = r"""
extern "C" void run(const float* t, const int64_t* rows, const float* u, float* y, int64_t size, int64_t count, int64_t n) {
  memcpy(y, t, size * n * sizeof(float));
  for (int64_t i = 0; i < count; ++i) {
    int64_t r = rows[i] < 0 ? rows[i] + size : rows[i];
    for (int64_t j = 0; j < n; ++j) y[r * n + j] += u[i * n + j];
  }
}
"""


def forward(self, table, rows, update):
    y = torch.empty_like(table)
    lib.run(table, rows, update, y, table.shape[0], rows.shape[0], table.shape[1])
    return y
