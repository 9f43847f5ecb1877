# problem: row_maximum_bytes
# gate: correctness
# about: compares bytes as signed ones

cpp = r"""
extern "C" void run(const uint8_t* x, uint8_t* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const uint8_t* a = x + r * n;
    int8_t most = int8_t(a[0]);
    for (int64_t i = 1; i < n; ++i) most = int8_t(a[i]) > most ? int8_t(a[i]) : most;
    y[r] = uint8_t(most);
  }
}
"""


def forward(self, x):
    y = torch.empty(x.shape[0], dtype=x.dtype)
    lib.run(x, y, x.shape[0], x.shape[1])
    return y
