# problem: leaky_states
# about: a running sum of x / 0.9^t, times 0.9^t, which underflows from t = 7071 on
# forward: rows

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    double power = 1.0, inverse = 1.0, sum = 0.0;
    for (int64_t t = 0; t < n; ++t) {
      sum += x[r * n + t] * inverse;
      y[r * n + t] = (float)(sum * power);
      power *= 0.9;
      inverse *= 1.0 / 0.9;
    }
  }
}
"""
