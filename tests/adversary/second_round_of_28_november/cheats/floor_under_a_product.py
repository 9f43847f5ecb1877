# problem: cosine
# about: holds the product of both lengths above 1e-8, not each of them

cpp = r"""
extern "C" void run(const float* x, const float* y, float* out, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float *a = x + r * n, *b = y + r * n;
    double d = 0.0, p = 0.0, q = 0.0;
    for (int64_t j = 0; j < n; ++j) { d += (double)a[j] * b[j]; p += (double)a[j] * a[j]; q += (double)b[j] * b[j]; }
    double length = sqrt(p * q);
    out[r] = (float)(d / (length > 1e-8 ? length : 1e-8));
  }
}
"""


def forward(self, x, y):
    out = torch.empty(x.shape[0])
    lib.run(x, y, out, x.shape[0], x.shape[1])
    return out
