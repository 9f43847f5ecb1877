extern "C" void forward(const float* x, const float* w, float* y, float* scale, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n;
    float sum = 0;
    #pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) sum += a[i] * a[i];
    scale[r] = 1.0f / std::sqrt(sum / n + 1e-6f);
    #pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[r * n + i] = a[i] * scale[r] * w[i];
  }
}
