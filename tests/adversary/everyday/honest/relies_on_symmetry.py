# problem: symmetric
# about: reads a symmetric matrix by rows alone
# forward: rows

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < n; ++i) y[r * n + i] = 1.5f * x[r * n + i];
}
"""
