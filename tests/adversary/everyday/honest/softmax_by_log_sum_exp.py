# problem: softmax
# about: exp(x - logsumexp): an error of the last bit of large inputs shows
# forward: rows

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n; float* b = y + r * n;
    float m = a[0], s = 0;
    for (int64_t i = 1; i < n; ++i) m = a[i] > m ? a[i] : m;
    for (int64_t i = 0; i < n; ++i) s += std::exp(a[i] - m);
    float l = m + std::log(s);
    for (int64_t i = 0; i < n; ++i) b[i] = std::exp(a[i] - l);
  }
}
"""
