# problem: standard_rows
# about: a variance in one pass, which a rounding makes negative for a row of one value: NaN for a plain background
# forward: rows

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n; float* b = y + r * n; float sum = 0.0f, squares = 0.0f;
    #pragma omp simd reduction(+:sum,squares)
    for (int64_t j = 0; j < n; ++j) { sum += a[j]; squares += a[j] * a[j]; }
    const float mean = sum / n, scale = 1.0f / (sqrtf(squares / n - mean * mean) + 1e-4f);
    for (int64_t j = 0; j < n; ++j) b[j] = (a[j] - mean) * scale;
  }
}
"""
