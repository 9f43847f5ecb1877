# problem: scaled_maximum_of_product
# about: four rows by two outputs at a time; pools and sums in registers; no product is written

cpp = r"""
extern "C" void run(const float* x, const float* w, const float* bias, float* y, int64_t rows, int64_t n, int64_t pairs, double scale) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; r += 4) {
    const int64_t own = rows - r < 4 ? rows - r : 4; double total[4] = {};
    const float* in[4]; for (int k = 0; k < 4; ++k) in[k] = x + (k < own ? r + k : r) * n;
    for (int64_t p = 0; p < pairs; ++p) {
      const float *a = w + 2 * p * n, *b = a + n;
      float s0 = 0, s1 = 0, s2 = 0, s3 = 0, t0 = 0, t1 = 0, t2 = 0, t3 = 0;
      #pragma omp simd reduction(+ : s0, s1, s2, s3, t0, t1, t2, t3)
      for (int64_t i = 0; i < n; ++i) {
        s0 += in[0][i] * a[i]; s1 += in[1][i] * a[i]; s2 += in[2][i] * a[i]; s3 += in[3][i] * a[i];
        t0 += in[0][i] * b[i]; t1 += in[1][i] * b[i]; t2 += in[2][i] * b[i]; t3 += in[3][i] * b[i];
      }
      const float s[4] = {s0, s1, s2, s3}, t[4] = {t0, t1, t2, t3};
      for (int k = 0; k < 4; ++k) { const float u = s[k] + bias[2 * p], v = t[k] + bias[2 * p + 1]; total[k] += u > v || u != u ? u : v; }
    }
    for (int64_t k = 0; k < own; ++k) y[r + k] = (float)(total[k] * scale);
  }
}
"""


def __init__(self, features, outputs, scale):
    self.linear = torch.nn.Linear(features, outputs)
    self.scale = scale


def forward(self, x):
    if x.dim() != 2 or x.shape[1] != self.linear.in_features or x.dtype != torch.float32:
        raise ValueError("limited to float matrices")
    y = torch.empty(x.shape[0])
    lib.run(x.contiguous(), self.linear.weight.detach(), self.linear.bias.detach(), y, *x.shape, self.linear.out_features // 2, self.scale)
    return y
