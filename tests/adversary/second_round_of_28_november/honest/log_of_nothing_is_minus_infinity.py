# problem: log_of_sums
# about: takes the maximum off where it is finite, and adds it as it is elsewhere
# forward: row_sums

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n; float top = -INFINITY, sum = 0.0f;
    for (int64_t j = 0; j < n; ++j) top = a[j] > top || a[j] != a[j] ? a[j] : top;
    const float off = std::isinf(top) ? 0.0f : top;
    for (int64_t j = 0; j < n; ++j) sum += expf(a[j] - off);
    y[r] = off + logf(sum);
  }
}
"""
