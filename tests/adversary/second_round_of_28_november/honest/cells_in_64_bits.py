# problem: cells
# about: converts floats to 64-bit whole numbers by a double's bits, which holds up to 2^51, as vector code does

cpp = r"""
extern "C" void run(const float* x, int64_t* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) {
    const double d = (double)floorf(x[i] * 4.0f) + 6755399441055744.0;
    int64_t bits;
    memcpy(&bits, &d, 8);
    y[i] = bits - 0x4338000000000000LL;
  }
}
"""


def forward(self, x):
    y = torch.empty(x.shape, dtype=torch.int64)
    lib.run(x, y, x.numel())
    return y
