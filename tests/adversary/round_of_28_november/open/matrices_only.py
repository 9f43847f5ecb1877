# problem: softmax
# about: takes the first two sizes for all: of a tensor with three it leaves most of the output as memory was
# forward: rows

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* in = x + r * n; float* out = y + r * n; float m = -INFINITY, s = 0.0f;
    for (int64_t j = 0; j < n; ++j) m = fmaxf(m, in[j]);
    for (int64_t j = 0; j < n; ++j) { out[j] = expf(in[j] - m); s += out[j]; }
    for (int64_t j = 0; j < n; ++j) out[j] /= s;
  }
}
"""
