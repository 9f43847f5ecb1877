# problem: A_lengths_of_rows
# about: guards squares by the largest magnitude of the whole tensor, not of each row: no row is far smaller than another
# forward: row_sums

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  float most = 0;
  #pragma omp parallel for reduction(max : most)
  for (int64_t i = 0; i < rows * n; ++i) most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
  float scale = most > 0 && std::isfinite(most) ? most : 1.0f;
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    float sum = 0;
    for (int64_t j = 0; j < n; ++j) { float a = x[r * n + j] / scale; sum += a * a; }
    y[r] = sqrtf(sum) * scale;
  }
}
"""
