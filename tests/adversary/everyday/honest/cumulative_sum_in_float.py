# problem: long_cumulative_sum
# about: one running sum in float over 16 384 values
# forward: rows

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    float s = 0;
    for (int64_t i = 0; i < n; ++i) { s += x[r * n + i]; y[r * n + i] = s; }
  }
}
"""
