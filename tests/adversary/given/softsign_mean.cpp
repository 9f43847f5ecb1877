static void work(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    float s = 0;
    #pragma omp simd reduction(+ : s)
    for (int64_t i = 0; i < n; ++i) { float v = x[r * n + i]; s += v / (1.0f + std::fabs(v)); }
    y[r] = s / n;
  }
}
