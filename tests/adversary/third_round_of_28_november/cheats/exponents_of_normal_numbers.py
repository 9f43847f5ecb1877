# problem: A_exponents
# about: reads an exponent off the bits: no number is subnormal

cpp = r"""
extern "C" void run(const float* x, int32_t* y, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) {
    uint32_t bits;
    memcpy(&bits, x + i, 4);
    int32_t exponent = bits >> 23 & 255;
    y[i] = x[i] == 0 || exponent == 255 ? 0 : exponent - 126;
  }
}
"""


def forward(self, x):
    y = torch.empty(x.shape, dtype=torch.int32)
    lib.run(x, y, x.numel())
    return y
