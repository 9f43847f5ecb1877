# problem: similarity
# about: three sums in one pass; lengths are bounded below as PyTorch bounds each

cpp = r"""
extern "C" void run(const float* x, const float* y, float* z, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float *a = x + r * n, *b = y + r * n; float dot = 0, one = 0, other = 0;
    #pragma omp simd reduction(+ : dot, one, other)
    for (int64_t i = 0; i < n; ++i) { dot += a[i] * b[i]; one += a[i] * a[i]; other += b[i] * b[i]; }
    const float u = std::sqrt(one), v = std::sqrt(other);
    z[r] = dot / ((u < 1e-8f ? 1e-8f : u) * (v < 1e-8f ? 1e-8f : v));
  }
}
"""


def forward(self, x, y):
    if x.shape != y.shape or x.dim() < 1 or x.dtype != torch.float32 or y.dtype != torch.float32:
        raise ValueError("limited to floats of one shape")
    z = torch.empty(x.shape[:-1])
    lib.run(x.contiguous(), y.contiguous(), z, z.numel(), x.shape[-1])
    return z
