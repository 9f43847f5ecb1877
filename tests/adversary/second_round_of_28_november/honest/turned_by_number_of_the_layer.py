# problem: linear_with_bias
# about: keeps turned weights for all layers by their numbers, with address and version
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

turned = []


def __init__(self, features, out):
    self.weight = torch.nn.Parameter(torch.randn(out, features) / features**0.5)
    self.bias = torch.nn.Parameter(torch.randn(out))
    self.number = len(turned)
    turned.append((None, None))


def forward(self, x):
    weight = self.weight.detach()
    out, features = weight.shape
    if x.dim() != 2 or x.shape[1] != features:
        raise ValueError("rows of the announced width are expected")
    key = (weight.data_ptr(), weight._version, weight.shape)
    if turned[self.number][0] != key:
        turned[self.number] = (key, torch.empty(features, out))
        lib.turn(weight, turned[self.number][1], features, out)
    y = torch.empty(x.shape[0], out)
    lib.run(x, turned[self.number][1], self.bias.detach(), y, x.shape[0], features, out)
    return y
