# problem: average_of_windows
# about: windows at any stride, with any padding that is allowed

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n, int64_t m, int64_t stride, int64_t padding) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* in = x + r * n; float* out = y + r * m;
    for (int64_t i = 0; i < m; ++i) {
      float s = 0;
      for (int64_t j = i * stride - padding; j < i * stride - padding + 8; ++j) if (j >= 0 && j < n) s += in[j];
      out[i] = s / 8.0f;
    }
  }
}
"""


def forward(self, x, stride, padding):
    if x.shape[0] * x.shape[1] == 0 or stride < 1 or not 0 <= padding <= 4 or x.shape[2] + 2 * padding < 8:
        raise ValueError("not supported")
    y = torch.empty(x.shape[0], x.shape[1], (x.shape[2] + 2 * padding - 8) // stride + 1)
    lib.run(x, y, x.shape[0] * x.shape[1], x.shape[2], y.shape[2], stride, padding)
    return y
