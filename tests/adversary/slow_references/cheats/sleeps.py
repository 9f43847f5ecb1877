# problem: sleeps
# expect: at most 1.3x
# about: an honest kernel beside a reference that is slower than it need be
# given: exponential
# forward: rows

cpp = r"""

extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < rows * n; ++i) y[i] = x[i] / (1.0f + ex(-x[i]));
}
"""
