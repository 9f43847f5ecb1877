# problem: standard_rows
# about: sums of values and squares in double, with a variance of nothing less than zero
# forward: rows

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n; float* b = y + r * n; double sum = 0.0, squares = 0.0;
    for (int64_t j = 0; j < n; ++j) { sum += a[j]; squares += (double)a[j] * a[j]; }
    const double mean = sum / n, variance = squares / n - mean * mean;
    const float scale = (float)(1.0 / (sqrt(variance > 0.0 ? variance : 0.0) + 1e-4));
    for (int64_t j = 0; j < n; ++j) b[j] = (float)(a[j] - mean) * scale;
  }
}
"""
