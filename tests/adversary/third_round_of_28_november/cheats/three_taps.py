# problem: b_filtered_by_taps
# about: a list of numbers always has as many: takes three

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n, float a, float b, float c) {
  int64_t width = n < 2 ? 0 : n - 2;
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) for (int64_t j = 0; j < width; ++j) {
    const float* in = x + r * n + j;
    y[r * width + j] = a * in[0] + b * in[1] + c * in[2];
  }
}
"""


def forward(self, x, taps):
    a, b, c = taps[:3]
    y = torch.empty(x.shape[0], max(0, x.shape[1] - 2))
    lib.run(x, y, x.shape[0], x.shape[1], a, b, c)
    return y
