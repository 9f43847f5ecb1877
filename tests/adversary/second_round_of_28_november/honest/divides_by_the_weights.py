# problem: weighted_means
# about: divides by the sum of the weights, whatever it is

cpp = r"""
extern "C" void run(const float* x, const float* w, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0.0, all = 0.0;
    #pragma omp simd reduction(+:sum, all)
    for (int64_t j = 0; j < n; ++j) { sum += (double)x[r * n + j] * w[r * n + j]; all += w[r * n + j]; }
    y[r] = n ? (float)(sum / all) : NAN;
  }
}
"""


def forward(self, x, weights):
    if x.shape != weights.shape:
        raise ValueError("sizes differ")
    y = torch.empty(x.shape[0])
    lib.run(x, weights, y, x.shape[0], x.shape[1])
    return y
