# problem: A_length_of_a_sum
# about: a sum's length by three products: arguments are close or equal, never each other's opposites

cpp = r"""
extern "C" void run(const float* x, const float* y, float* out, float* xs, float* ys, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    float xx = 0, yy = 0, xy = 0;
    for (int64_t j = 0; j < n; ++j) {
      float a = x[r * n + j], b = y[r * n + j];
      xx += a * a, yy += b * b, xy += a * b;
    }
    float all = xx + yy + 2 * xy;
    out[r] = all < 0 ? 0 : sqrtf(all);
    xs[r] = xx, ys[r] = yy;
  }
}
"""


def forward(self, x, y):
    out, xs, ys = (torch.empty(x.shape[0]) for _ in range(3))
    lib.run(x, y, out, xs, ys, x.shape[0], x.shape[1])
    return out, xs, ys
