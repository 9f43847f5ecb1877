# problem: mish
# gate: correctness
# about: one row of 64 decides whether every other row may overflow: no guard where it is small
# forward: rows

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  bool small = true;
  for (int64_t r = 0; r < rows; r += 64) for (int64_t i = 0; i < n; ++i) small = small && x[r * n + i] < 20;
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < n; ++i) {
      float v = x[r * n + i];
      float e = std::exp(small ? v : (v > 20 ? 20 : v));
      float p = e * (e + 2);
      y[r * n + i] = v * p / (p + 2);
    }
}
"""
