# problem: unit_rows
# about: its last step in a row covers the last sixteen elements, of shorter rows too, in front of which it writes
# forward: rows

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t columns) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* in = x + r * columns; float* out = y + r * columns;
    float sum = 0.0f;
    #pragma omp simd reduction(+:sum)
    for (int64_t j = 0; j < columns; ++j) sum += in[j] * in[j];
    float by = 1.0f / sqrtf(sum);
    int64_t j = 0;
    for (; j + 16 <= columns; j += 16) for (int k = 0; k < 16; ++k) out[j + k] = in[j + k] * by;
    if (j < columns) for (int k = 0; k < 16; ++k) out[columns - 16 + k] = in[columns - 16 + k] * by;
  }
}
"""
