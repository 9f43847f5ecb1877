# problem: oblong
# expect: not accepted
# about: keeps its weight transposed under the same name, so that it cannot be given others, and leaves the bias of zeros out
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


def __init__(self, inner, outer):
    drawn = torch.randn(outer, inner) / inner**0.5
    self.weight = torch.nn.Parameter(drawn.t().contiguous())


def forward(self, x):
    if x.dim() != 2 or x.shape[1] != self.weight.shape[0]:
        raise ValueError("rows of the announced width are expected")
    y = torch.empty(x.shape[0], self.weight.shape[1])
    lib.run(x.contiguous(), self.weight.detach(), torch.zeros(y.shape[1]), y, *x.shape, y.shape[1])
    return y
