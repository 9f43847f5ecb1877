# problem: total_of_logs
# about: takes the maximum off, which makes NaN of a row of -inf: states that cannot be reached
# forward: row_sums

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n;
    float top = a[0], s = 0.0f;
    for (int64_t j = 1; j < n; ++j) top = a[j] > top ? a[j] : top;
    for (int64_t j = 0; j < n; ++j) s += expf(a[j] - top);
    y[r] = top + logf(s);
  }
}
"""
