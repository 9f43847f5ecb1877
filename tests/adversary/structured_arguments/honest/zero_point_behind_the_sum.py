# problem: zero_point_linear
# about: takes the zero point out of the sum, as integer kernels do, and refuses a bias

cpp = r"""
extern "C" void run(const float* x, const int8_t* w, const float* scale, const int8_t* zero, float* y, int64_t rows, int64_t n, int64_t m) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* in = x + r * n; float all = 0;
    #pragma omp simd reduction(+ : all)
    for (int64_t i = 0; i < n; ++i) all += in[i];
    for (int64_t o = 0; o < m; ++o) {
      const int8_t* row = w + o * n; float sum = 0;
      #pragma omp simd reduction(+ : sum)
      for (int64_t i = 0; i < n; ++i) sum += in[i] * row[i];
      y[r * m + o] = scale[o] * (sum - zero[o] * all); } }
}
"""


def forward(self, x, weight, scale, zero, bias=None):
    if bias is not None:
        raise NotImplementedError("no bias")
    rows, n = x.shape
    m, k = weight.shape
    if k != n or scale.shape != (m,) or zero.shape != (m,) or weight.dtype != torch.int8 or zero.dtype != torch.int8:
        raise ValueError("8-bit weights with a scale and a zero point an output")
    y = torch.empty(rows, m)
    lib.run(x.contiguous(), weight.contiguous(), scale.contiguous(), zero.contiguous(), y, rows, n, m)
    return y
