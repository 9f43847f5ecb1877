# problem: known_means
# about: divides by one at least: the mean of nothing is 0, not NaN
# forward: row_sums

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    double s = 0.0;
    int64_t count = 0;
    for (int64_t j = 0; j < n; ++j) { float v = x[r * n + j]; if (v == v) { s += v; ++count; } }
    y[r] = (float)(s / (count ? count : 1));
  }
}
"""
