# problem: zero_point_linear
# about: subtracts each zero point from its weight and takes the scale behind the sum

cpp = r"""
extern "C" void run(const float* x, const int8_t* w, const float* scale, const int8_t* zero, const float* bias, float* y, int64_t rows, int64_t n, int64_t m, int64_t biased) {
  #pragma omp parallel for collapse(2)
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t o = 0; o < m; ++o) {
      const float* in = x + r * n; const int8_t* row = w + o * n; const int32_t z = zero[o]; float sum = 0;
      #pragma omp simd reduction(+ : sum)
      for (int64_t i = 0; i < n; ++i) sum += in[i] * (float)((int32_t)row[i] - z);
      y[r * m + o] = scale[o] * sum + (biased ? bias[o] : 0.0f); }
}
"""


def forward(self, x, weight, scale, zero, bias=None):
    rows, n = x.shape
    m, k = weight.shape
    if k != n or scale.shape != (m,) or zero.shape != (m,) or weight.dtype != torch.int8 or zero.dtype != torch.int8:
        raise ValueError("8-bit weights with a scale and a zero point an output")
    if bias is not None and (bias.shape != (m,) or bias.dtype != torch.float32):
        raise ValueError("a bias an output")
    given = scale if bias is None else bias
    y = torch.empty(rows, m)
    lib.run(x.contiguous(), weight.contiguous(), scale.contiguous(), zero.contiguous(), given.contiguous(), y, rows, n, m, bias is not None)
    return y
