# problem: row_max
# about: std::fmax skips NaN
# forward: row_sums

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    float m = x[r * n];
    for (int64_t i = 1; i < n; ++i) m = std::fmax(m, x[r * n + i]);
    y[r] = m;
  }
}
"""
