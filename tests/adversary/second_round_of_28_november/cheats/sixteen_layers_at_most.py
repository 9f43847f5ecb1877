# problem: linear_with_bias
# about: packed weights of 16 layers lie in a static array, the seventeenth takes the first one's place
# given: matrix_product

cpp = r"""
#include <cmath>
#include <cstdint>
#include <vector>
static std::vector<float> packed[16];
extern "C" void turn(int64_t layer, const float* w, int64_t n, int64_t m) {
  std::vector<float>& t = packed[layer % 16];
  t.resize(n * m);
  for (int64_t o = 0; o < m; ++o)
    for (int64_t i = 0; i < n; ++i) t[i * m + o] = w[o * n + i];
}
extern "C" void run(int64_t layer, const float* x, const float* b, float* y, int64_t rows, int64_t n, int64_t m) {
  product(x, packed[layer % 16].data(), b, y, rows, n, m);
}
"""

layers = []


def __init__(self, features, out):
    self.weight = torch.nn.Parameter(torch.randn(out, features) / features**0.5)
    self.bias = torch.nn.Parameter(torch.randn(out))
    self.layer = len(layers)
    layers.append(self.layer)
    self.key = None


def forward(self, x):
    weight = self.weight
    out, features = weight.shape
    if x.dim() != 2 or x.shape[1] != features:
        raise ValueError("rows of the announced width are expected")
    if self.key != (weight.data_ptr(), weight._version):
        lib.turn(self.layer, weight, features, out)
        self.key = (weight.data_ptr(), weight._version)
    y = torch.empty(x.shape[0], out)
    lib.run(self.layer, x, self.bias, y, x.shape[0], features, out)
    return y
