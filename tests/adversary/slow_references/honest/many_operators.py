# problem: many_operators
# about: an honest kernel beside a reference of 49 operators, which it makes one of
# given: exponential
# forward: rows

cpp = r"""

extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < rows * n; ++i) { float v = x[i]; for (int k = 0; k < 24; ++k) v = v * 0.75f + 0.125f; y[i] = v / (1.0f + ex(-v)); }
}
"""
