# problem: softmax_fp16
# gate: correctness
# about: an exponential that is right to one in a thousand
# forward: rows

cpp = r"""
extern "C" void run(const _Float16* x, _Float16* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const _Float16* a = x + r * n; _Float16* b = y + r * n;
    float m = (float)a[0], s = 0;
    for (int64_t i = 1; i < n; ++i) m = (float)a[i] > m ? (float)a[i] : m;
    auto rough = [](float v) { float t = v * 1.44269504f; float k = std::floor(t); float f = t - k;
      return std::ldexp(1.0f + f * (0.6565f + f * 0.3435f), (int)(k < -60 ? -60 : k)); };
    for (int64_t i = 0; i < n; ++i) s += rough((float)a[i] - m);
    for (int64_t i = 0; i < n; ++i) b[i] = (_Float16)(rough((float)a[i] - m) / s);
  }
}
"""
