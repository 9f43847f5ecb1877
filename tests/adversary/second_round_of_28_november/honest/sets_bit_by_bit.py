# problem: bits_of_signs
# about: sixteen sums a row, a bit each; sums of near nothing may lie on the other side

cpp = r"""
extern "C" void run(const float* x, const float* w, int64_t* y, int64_t rows, int64_t n, int64_t planes) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    int64_t code = 0;
    for (int64_t p = 0; p < planes; ++p) {
      float sum = 0;
      #pragma omp simd reduction(+ : sum)
      for (int64_t i = 0; i < n; ++i) sum += x[r * n + i] * w[p * n + i];
      code |= (int64_t)(sum > 0) << p;
    }
    y[r] = code;
  }
}
"""


def __init__(self, features, planes):
    self.register_buffer("planes", torch.randn(planes, features))


def forward(self, x):
    if x.dim() != 2 or x.shape[1] != self.planes.shape[1] or x.dtype != torch.float32:
        raise ValueError("limited to float matrices")
    y = torch.empty(x.shape[0], dtype=torch.int64)
    lib.run(x.contiguous(), self.planes, y, *x.shape, self.planes.shape[0])
    return y
