# problem: softmax_fp16
# gate: correctness
# about: the denominator is four times the sum of every fourth term
# forward: rows

cpp = r"""
extern "C" void run(const _Float16* x, _Float16* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const _Float16* a = x + r * n; _Float16* b = y + r * n;
    float m = (float)a[0], s = 0;
    for (int64_t i = 1; i < n; ++i) m = (float)a[i] > m ? (float)a[i] : m;
    for (int64_t i = 0; i < n; i += 4) s += 4 * std::exp((float)a[i] - m);
    for (int64_t i = 0; i < n; ++i) b[i] = (_Float16)(std::exp((float)a[i] - m) / s);
  }
}
"""
