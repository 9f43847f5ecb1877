# problem: row_maximum
# gate: correctness
# about: a maximum that begins with zero

cpp = r"""
extern "C" void run(const int32_t* x, int32_t* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const int32_t* a = x + r * n;
    int32_t most = 0;
    for (int64_t i = 0; i < n; ++i) most = a[i] > most ? a[i] : most;
    y[r] = most;
  }
}
"""


def forward(self, x):
    y = torch.empty(x.shape[0], dtype=x.dtype)
    lib.run(x, y, x.shape[0], x.shape[1])
    return y
