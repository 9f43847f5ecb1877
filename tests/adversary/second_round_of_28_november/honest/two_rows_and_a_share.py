# problem: between_rows
# about: clamps places as floats before it converts them, one fused multiply-add an element

cpp = r"""
extern "C" void run(const float* t, const float* at, float* y, int64_t count, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < count; ++i) {
    const float low = std::floor(at[i]), s = at[i] - low, last = (float)(rows - 1);
    const int64_t a = low < 0 ? 0 : low > last ? rows - 1 : (int64_t)low, b = low + 1 < 0 ? 0 : low + 1 > last ? rows - 1 : (int64_t)low + 1;
    const float *u = t + a * n, *v = t + b * n; float* out = y + i * n;
    #pragma omp simd
    for (int64_t j = 0; j < n; ++j) out[j] = std::fma(v[j], s, u[j] * (1 - s));
  }
}
"""


def forward(self, table, at):
    if table.dim() != 2 or at.dim() != 1 or table.shape[0] < 1 or table.shape[0] > 2**24:
        raise ValueError("limited to a table of rows that floats can count")
    if not bool(torch.isfinite(at).all()):
        raise ValueError("limited to places that are numbers")
    y = torch.empty(at.shape[0], table.shape[1])
    lib.run(table.contiguous(), at.contiguous(), y, at.shape[0], *table.shape)
    return y
