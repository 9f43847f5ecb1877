# problem: softmax
# gate: generalization
# about: columns beyond the 2000th do not count and stay 0
# forward: rows

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n; float* b = y + r * n;
    int64_t k = n < 2000 ? n : 2000;
    float m = a[0], s = 0;
    for (int64_t i = 1; i < k; ++i) m = a[i] > m ? a[i] : m;
    for (int64_t i = 0; i < k; ++i) { b[i] = std::exp(a[i] - m); s += b[i]; }
    for (int64_t i = 0; i < k; ++i) b[i] /= s;
    for (int64_t i = k; i < n; ++i) b[i] = 0;
  }
}
"""
