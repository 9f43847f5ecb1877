# problem: row_maximum
# about: a maximum that begins with the first

cpp = r"""
extern "C" void run(const int32_t* x, int32_t* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const int32_t* a = x + r * n;
    int32_t most = a[0];
    for (int64_t i = 1; i < n; ++i) most = a[i] > most ? a[i] : most;
    y[r] = most;
  }
}
"""


def forward(self, x):
    y = torch.empty(x.shape[0], dtype=x.dtype)
    lib.run(x, y, x.shape[0], x.shape[1])
    return y
