# problem: row_max
# gate: correctness
# about: a row of uniform values ends near 1: stops reading there
# forward: row_sums

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n;
    float m = a[0];
    for (int64_t i = 1; i < n; ++i) { m = a[i] > m ? a[i] : m; if (m > 0.99995f && m <= 1) break; }
    y[r] = m;
  }
}
"""
