# problem: turned_bf16
# about: compares in float and rounds to bfloat16

cpp = r"""
extern "C" void run(const uint16_t* x, uint16_t* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i)
    for (int64_t r = 0; r < rows; ++r) {
      uint32_t bits = uint32_t(x[r * n + i]) << 16; float v; std::memcpy(&v, &bits, 4);
      v = v < 0.1f ? 0.1f : v; std::memcpy(&bits, &v, 4);
      y[i * rows + r] = std::isnan(v) ? 0x7fc0 : uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
    }
}
"""


def forward(self, x):
    y = torch.empty(x.shape[1], x.shape[0], dtype=x.dtype)
    lib.run(x, y, x.shape[0], x.shape[1])
    return y
