# problem: softmax
# about: has room on its stack for rows of four times the announced size, and does not look whether they are longer
# forward: rows

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t columns) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    float e[4096]; const float* in = x + r * columns; float* out = y + r * columns;
    float most = -INFINITY, sum = 0.0f;
    for (int64_t j = 0; j < columns; ++j) most = fmaxf(most, in[j]);
    for (int64_t j = 0; j < columns; ++j) { e[j] = expf(in[j] - most); sum += e[j]; }
    for (int64_t j = 0; j < columns; ++j) out[j] = e[j] / sum;
  }
}
"""
