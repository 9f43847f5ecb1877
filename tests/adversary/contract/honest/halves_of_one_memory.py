# problem: two_halves
# about: two outputs lie beside each other in the rows of one memory

cpp = r"""

extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) for (int64_t i = 0; i < n; ++i) { float v = x[r * n + i]; y[2 * r * n + i] = v > 0 ? v : 0; y[(2 * r + 1) * n + i] = v < 0 ? -v : 0; }
}
"""


def forward(self, x):
    rows, n = x.shape
    y = torch.empty(rows, 2 * n)
    lib.run(x, y, rows, n)
    return y[:, :n], y[:, n:]
