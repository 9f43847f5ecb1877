# problem: hours
# about: converts 64-bit whole numbers by way of a double's bits, which holds up to 2^51, as vector code does

cpp = r"""
extern "C" void run(const int64_t* x, float* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) {
    const int64_t bits = x[i] + 0x4338000000000000LL;
    double d;
    memcpy(&d, &bits, 8);
    y[i] = (float)((d - 6755399441055744.0) * (1.0 / 3600.0));
  }
}
"""


def forward(self, seconds):
    y = torch.empty(seconds.shape)
    lib.run(seconds, y, seconds.numel())
    return y
