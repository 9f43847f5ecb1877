# problem: similarity
# about: sums in double, so that no square overflows; one square root of the product of both lengths

cpp = r"""
extern "C" void run(const float* x, const float* y, float* z, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float *a = x + r * n, *b = y + r * n; double dot = 0, one = 0, other = 0;
    #pragma omp simd reduction(+ : dot, one, other)
    for (int64_t i = 0; i < n; ++i) { const double u = a[i], v = b[i]; dot += u * v; one += u * u; other += v * v; }
    z[r] = (float)(dot / std::sqrt((one < 1e-16 ? 1e-16 : one) * (other < 1e-16 ? 1e-16 : other)));
  }
}
"""


def forward(self, x, y):
    if x.shape != y.shape or x.dim() < 1 or x.dtype != torch.float32 or y.dtype != torch.float32:
        raise ValueError("limited to floats of one shape")
    z = torch.empty(x.shape[:-1])
    lib.run(x.contiguous(), y.contiguous(), z, z.numel(), x.shape[-1])
    return z
