# problem: shares
# about: multiplies by the reciprocal of a sum in double: minute sums have one too
# forward: rows

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n;
    double s = 0.0;
    for (int64_t j = 0; j < n; ++j) s += a[j];
    const float inverse = (float)(1.0 / s);
    for (int64_t j = 0; j < n; ++j) y[r * n + j] = a[j] * inverse;
  }
}
"""
