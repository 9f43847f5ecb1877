# problem: unit_vectors
# about: bounds the length from below as the library does; a row of zeros stays one
# forward: rows

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n; float* b = y + r * n; float sum = 0.0f;
    #pragma omp simd reduction(+:sum)
    for (int64_t j = 0; j < n; ++j) sum += a[j] * a[j];
    const float scale = 1.0f / fmaxf(sqrtf(sum), 1e-12f);
    #pragma omp simd
    for (int64_t j = 0; j < n; ++j) b[j] = a[j] * scale;
  }
}
"""
