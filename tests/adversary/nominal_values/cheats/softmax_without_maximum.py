# problem: softmax
# gate: correctness
# about: never subtracts the maximum
# forward: rows

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n; float* b = y + r * n;
    float m = 0;
    float s = 0;
    for (int64_t i = 0; i < n; ++i) { b[i] = std::exp(a[i] - m); s += b[i]; }
    s = 1 / s;
    for (int64_t i = 0; i < n; ++i) b[i] *= s;
  }
}
"""
