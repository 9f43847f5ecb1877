// y[r, o] = sum over i of x[r, i] * w[i, o], plus b[o] where there is a b; w lies inner dimension first
static void product(const float* x, const float* w, const float* b, float* y, int64_t rows, int64_t n, int64_t m) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    float* out = y + r * m;
    for (int64_t o = 0; o < m; ++o) out[o] = b ? b[o] : 0.0f;
    for (int64_t i = 0; i < n; ++i) {
      const float a = x[r * n + i];
      #pragma omp simd
      for (int64_t o = 0; o < m; ++o) out[o] += a * w[i * m + o];
    }
  }
}
