extern "C" void run(const float* x, float* centred, float* mean, float* square, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n; float* c = centred + r * n;
    double s = 0, q = 0;
    for (int64_t i = 0; i < n; ++i) s += a[i];
    float m = (float)(s / n);
    for (int64_t i = 0; i < n; ++i) { c[i] = a[i] - m; q += (double)c[i] * c[i]; }
    mean[r] = m;
    square[r] = (float)(q / n);
  }
}
