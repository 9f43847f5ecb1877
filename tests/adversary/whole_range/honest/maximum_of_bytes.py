# problem: row_maximum_bytes
# about: compares bytes

cpp = r"""
extern "C" void run(const uint8_t* x, uint8_t* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const uint8_t* a = x + r * n;
    uint8_t most = 0;
    for (int64_t i = 0; i < n; ++i) most = a[i] > most ? a[i] : most;
    y[r] = most;
  }
}
"""


def forward(self, x):
    y = torch.empty(x.shape[0], dtype=x.dtype)
    lib.run(x, y, x.shape[0], x.shape[1])
    return y
