# problem: linear_with_bias
# expect: remark PROVEN FOR PARAMETERS THAT ARE CHANGED IN PLACE
# about: turns its weight again when the version advances, which neither .data nor another parameter in its place does
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


def __init__(self, features, out):
    self.weight = torch.nn.Parameter(torch.randn(out, features) / features**0.5)
    self.bias = torch.nn.Parameter(torch.randn(out))
    self.version, self.turned = None, None


def forward(self, x):
    weight = self.weight.detach()
    out, features = weight.shape
    if x.dim() != 2 or x.shape[1] != features:
        raise ValueError("rows of the announced width are expected")
    if self.version != weight._version:
        self.turned = torch.empty(features, out)
        lib.turn(weight, self.turned, features, out)
        self.version = weight._version
    y = torch.empty(x.shape[0], out)
    lib.run(x, self.turned, self.bias.detach(), y, x.shape[0], features, out)
    return y
