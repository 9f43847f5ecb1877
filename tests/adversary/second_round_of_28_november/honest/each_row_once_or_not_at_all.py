# problem: add_to_some_rows
# about: looks whether a row comes twice, and raises an exception then

cpp = r"""
extern "C" void look(const int64_t* rows, uint8_t* seen, int32_t* twice, int64_t count, int64_t size) {
  for (int64_t i = 0; i < count; ++i) *twice |= seen[rows[i] < 0 ? rows[i] + size : rows[i]]++ > 0;
}
extern "C" void run(const float* t, const int64_t* rows, const float* u, float* y, int64_t size, int64_t count, int64_t n) {
  memcpy(y, t, size * n * sizeof(float));
  #pragma omp parallel for
  for (int64_t i = 0; i < count; ++i) {
    int64_t r = rows[i] < 0 ? rows[i] + size : rows[i];
    for (int64_t j = 0; j < n; ++j) y[r * n + j] = t[r * n + j] + u[i * n + j];
  }
}
"""


def forward(self, table, rows, update):
    twice = torch.zeros(1, dtype=torch.int32)
    lib.look(rows, torch.zeros(table.shape[0], dtype=torch.uint8), twice, rows.shape[0], table.shape[0])
    if int(twice):
        raise ValueError("each row has one update")
    y = torch.empty_like(table)
    lib.run(table, rows, update, y, table.shape[0], rows.shape[0], table.shape[1])
    return y
