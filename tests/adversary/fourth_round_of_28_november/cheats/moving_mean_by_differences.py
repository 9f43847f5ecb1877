# problem: b_moving_mean
# about: a window's sum is the last one's plus what comes in less what goes out, anew every 64 places

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n, int64_t m) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* in = x + r * n; float* out = y + r * m;
    for (int64_t j = 0; j < m; j += 64) {
      float s = 0;
      for (int k = 0; k < 32; ++k) s += in[j + k];
      out[j] = s * 0.03125f;
      int64_t end = j + 64 < m ? j + 64 : m;
      for (int64_t i = j + 1; i < end; ++i) { s += in[i + 31] - in[i - 1]; out[i] = s * 0.03125f; }
    }
  }
}
"""


def forward(self, x):
    if x.dim() != 3 or x.shape[2] < 32:
        raise RuntimeError("three dimensions, and at least 32 places")
    y = torch.empty(x.shape[0], x.shape[1], x.shape[2] - 31)
    lib.run(x, y, x.shape[0] * x.shape[1], x.shape[2], y.shape[2])
    return y
