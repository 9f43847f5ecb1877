# problem: double_complex
# about: sums conjugate products in double

cpp = r"""

extern "C" void run(const double* x, const double* y, double* z, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) { double re = 0, im = 0;
    for (int64_t i = 0; i < n; ++i) { double a = x[2 * (r * n + i)], b = x[2 * (r * n + i) + 1], c = y[2 * (r * n + i)], d = y[2 * (r * n + i) + 1]; re += a * c + b * d; im += a * d - b * c; }
    z[2 * r] = re; z[2 * r + 1] = im; }
}
"""


def forward(self, x, y):
    z = torch.empty(x.shape[0], dtype=torch.complex128)
    lib.run(torch.view_as_real(x.contiguous()), torch.view_as_real(y.contiguous()), torch.view_as_real(z), *x.shape)
    return z
