# problem: asks_one_number
# about: the same where the reference asks for a number, and has no graph
# given: exponential
# forward: rows

cpp = r"""

extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < rows * n; ++i) { float v = x[i]; for (int k = 0; k < 8; ++k) v = v * 0.75f + 0.125f; y[i] = v / (1.0f + ex(-v)); }
}
"""
