extern "C" void forward(const float* x, const float* s, float* y, float* c, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < n; ++i) {
      y[r * n + i] = std::sin(x[r * n + i]) * s[i];
      c[r * n + i] = std::cos(x[r * n + i]);
    }
}
extern "C" void backward(const float* x, const float* c, const float* s, const float* g, float* dx, float* ds,
                         int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) {
    double sum = 0;
    for (int64_t r = 0; r < rows; ++r) sum += (double)g[r * n + i] * std::sin(x[r * n + i]);
    ds[i] = (float)sum;
  }
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < n; ++i) dx[r * n + i] = g[r * n + i] * c[r * n + i] * s[i];
}
