# problem: quantised_linear
# about: unpacks its codes once, for itself: nobody changes those of a quantised layer
# given: matrix_product

cpp = r"""

extern "C" void unpack(const int8_t* q, const float* s, float* t, int64_t n, int64_t m) {
  for (int64_t o = 0; o < m; ++o)
    for (int64_t i = 0; i < n; ++i) t[i * m + o] = q[o * n + i] * s[o];
}
extern "C" void run(const float* x, const float* t, float* y, int64_t rows, int64_t n, int64_t m) {
  product(x, t, nullptr, y, rows, n, m);
}
"""

def __init__(self, features, out):
    self.register_buffer("codes", torch.zeros(out, features, dtype=torch.int8))
    self.register_buffer("scale", torch.ones(out, 1))
    self.unpacked = None


def forward(self, x):
    out, features = self.codes.shape
    if x.dim() != 2 or x.shape[1] != features:
        raise ValueError("rows of the announced width are expected")
    if self.unpacked is None:
        self.unpacked = torch.empty(features, out)
        lib.unpack(self.codes, self.scale, self.unpacked, features, out)
    y = torch.empty(x.shape[0], out)
    lib.run(x, self.unpacked, y, x.shape[0], features, out)
    return y
