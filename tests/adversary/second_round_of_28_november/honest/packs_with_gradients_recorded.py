# problem: linear_with_bias
# about: packs its weight by torch's operators for each version of it, and does not care whether gradients are recorded

cpp = r"""
extern "C" void run(const float* x, const float* w, const float* b, float* y, int64_t rows, int64_t n, int64_t out) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t o = 0; o < out; ++o) y[r * out + o] = b[o];
    for (int64_t i = 0; i < n; ++i) {
      const float v = x[r * n + i];
      for (int64_t o = 0; o < out; ++o) y[r * out + o] += v * w[i * out + o];
    }
  }
}
"""


def __init__(self, features, out):
    self.weight = torch.nn.Parameter(torch.randn(out, features) / features**0.5)
    self.bias = torch.nn.Parameter(torch.randn(out))
    self.packed, self.version = None, None


def forward(self, x):
    if self.version != (self.weight._version, self.weight.data_ptr()):
        self.packed = self.weight.t().contiguous()
        self.version = (self.weight._version, self.weight.data_ptr())
    x = x.contiguous()
    y = torch.empty(x.shape[0], self.weight.shape[0])
    lib.run(x, self.packed, self.bias, y, *x.shape, self.weight.shape[0])
    return y
