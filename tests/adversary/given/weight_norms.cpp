extern "C" void norms(const float* w, float* scale, int64_t out, int64_t n) {
  #pragma omp parallel for
  for (int64_t o = 0; o < out; ++o) {
    float s = 0;
    #pragma omp simd reduction(+ : s)
    for (int64_t i = 0; i < n; ++i) s += w[o * n + i] * w[o * n + i];
    scale[o] = 1 / std::sqrt(s);
  }
}
extern "C" void run(const float* x, const float* w, const float* scale, float* y, int64_t rows, int64_t out, int64_t n) {
  #pragma omp parallel for
  for (int64_t o = 0; o < out; ++o)
    for (int64_t r = 0; r < rows; ++r) {
      float s = 0;
      #pragma omp simd reduction(+ : s)
      for (int64_t i = 0; i < n; ++i) s += x[r * n + i] * w[o * n + i];
      y[r * out + o] = s * scale[o];
    }
}
