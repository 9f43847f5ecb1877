# problem: standardised
# about: takes the square of the mean from the mean of squares in float, of which nothing is left where the mean is large
# forward: rows

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* in = x + r * n; float* out = y + r * n; float s = 0.0f, q = 0.0f;
    #pragma omp simd reduction(+:s, q)
    for (int64_t j = 0; j < n; ++j) { s += in[j]; q += in[j] * in[j]; }
    float mean = s / n, by = 1.0f / sqrtf(fmaxf(q / n - mean * mean, 0.0f) + 1e-5f);
    #pragma omp simd
    for (int64_t j = 0; j < n; ++j) out[j] = (in[j] - mean) * by;
  }
}
"""
