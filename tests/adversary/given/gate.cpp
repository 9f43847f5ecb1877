extern "C" void squash(const float* w, float* s, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) s[i] = 1.0f / (1.0f + ex(-w[i]));
}
extern "C" void forward(const float* x, const float* s, float* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * s[i];
}
extern "C" void backward(const float* x, const float* s, const float* g, float* dx, float* dw, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) { dx[i] = g[i] * s[i]; dw[i] = g[i] * x[i] * s[i] * (1.0f - s[i]); }
}
