# problem: clamp_minimum
# about: `v > 0 ? v : 0` gives 0 for NaN
# forward: rows

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < rows * n; ++i) y[i] = x[i] > 0 ? x[i] : 0;
}
"""
