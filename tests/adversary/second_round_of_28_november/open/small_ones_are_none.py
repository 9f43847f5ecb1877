# problem: small_softmax
# about: leaves out what is below e^-15 of the largest: its logarithm is -inf
# forward: rows

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n;
    float* b = y + r * n;
    float top = a[0], s = 0.0f;
    for (int64_t j = 1; j < n; ++j) top = a[j] > top ? a[j] : top;
    for (int64_t j = 0; j < n; ++j) { float d = a[j] - top; b[j] = d < -15.0f ? 0.0f : expf(d); s += b[j]; }
    float inverse = 1.0f / s;
    for (int64_t j = 0; j < n; ++j) b[j] *= inverse;
  }
}
"""
