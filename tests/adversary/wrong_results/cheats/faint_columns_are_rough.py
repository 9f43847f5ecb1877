# problem: uneven_columns
# gate: correctness
# about: columns of small values lose the second term
# forward: rows

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n; float* b = y + r * n;
    for (int64_t i = 0; i < n; ++i) b[i] = i < 60 ? a[i] : std::sin(a[i]) + a[i];
  }
}
"""
