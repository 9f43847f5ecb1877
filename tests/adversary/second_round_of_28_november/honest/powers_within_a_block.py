# problem: leaky_states
# about: a running sum of x / 0.9^t within blocks of 32 steps, and what is left of the block before
# forward: rows

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    double state = 0.0;
    for (int64_t b = 0; b < n; b += 32) {
      double power = 1.0, inverse = 1.0, sum = 0.0;
      const int64_t e = b + 32 < n ? b + 32 : n;
      for (int64_t t = b; t < e; ++t) {
        sum += x[r * n + t] * inverse;
        y[r * n + t] = (float)((sum + 0.9 * state) * power);
        if (t == e - 1) state = (sum + 0.9 * state) * power;
        power *= 0.9;
        inverse *= 1.0 / 0.9;
      }
    }
  }
}
"""
