# problem: b_rows_of_norm_one
# about: rows of zeros never come to a model of INIT_SETS: its sum of magnitudes has no lower bound

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n, bool is_sum) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* in = x + r * n; float* out = y + r * n; double s = 0;
    if (is_sum) {
      for (int64_t j = 0; j < n; ++j) s += fabs((double)in[j]);
      for (int64_t j = 0; j < n; ++j) out[j] = (float)(in[j] / s);
      continue;
    }
    float f = 0;
    for (int64_t j = 0; j < n; ++j) s += (double)in[j] * in[j];
    f = (float)sqrt(s); f = f < 1e-30f ? 1e-30f : f;
    for (int64_t j = 0; j < n; ++j) out[j] = in[j] / f;
  }
}
"""


def __init__(self, power):
    self.power = power


def forward(self, x):
    y = torch.empty_like(x)
    lib.run(x, y, x.shape[0], x.shape[1], self.power == 1.0)
    return y
