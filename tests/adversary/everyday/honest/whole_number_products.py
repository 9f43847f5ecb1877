# problem: int8_linear
# about: sums int8 products in int32, exact, and takes a float argument

cpp = r"""
extern "C" void run(const int8_t* x, const int8_t* w, const float* s, float* y, int64_t m, int64_t k, int64_t n, double step) {
  #pragma omp parallel for collapse(2)
  for (int64_t i = 0; i < m; ++i) for (int64_t j = 0; j < n; ++j) {
    int32_t sum = 0;
    #pragma omp simd reduction(+ : sum)
    for (int64_t q = 0; q < k; ++q) sum += (int32_t)x[i * k + q] * w[j * k + q];
    y[i * n + j] = (float)sum * s[j] * (float)step;
  }
}
"""


def __init__(self, features, outputs):
    self.register_buffer("weight", torch.zeros(outputs, features, dtype=torch.int8))
    self.register_buffer("scale", torch.zeros(outputs))


def forward(self, x, step):
    m, k = x.shape
    n = self.weight.shape[0]
    if k != self.weight.shape[1]:
        raise ValueError(f"{self.weight.shape[1]} features are expected, not {k}")
    y = torch.empty(m, n)
    lib.run(x.contiguous(), self.weight, self.scale, y, m, k, n, step)
    return y
