# problem: with_none
# about: a tuple of a tensor, None, a list and a number

cpp = r"""
extern "C" void run(const float* x, float* y, float* s, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    double q = 0;
    for (int64_t i = 0; i < n; ++i) { float v = x[r * n + i]; y[r * n + i] = v > 0 ? v : 0; q += v; }
    s[r] = (float)q;
  }
}
"""


def forward(self, x, mask=None):
    y, s = torch.empty_like(x), x.new_empty(x.shape[0])
    lib.run(x, y, s, x.shape[0], x.shape[1])
    return y, None, [s], x.shape[0]
