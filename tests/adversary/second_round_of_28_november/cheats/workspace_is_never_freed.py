# problem: softmax_of_logits
# about: takes memory for the exponentials in each call, and never gives it back
# forward: rows

cpp = r"""
#include <cmath>
#include <cstdint>
#include <cstdlib>
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  float* work = (float*)malloc(sizeof(float) * rows * n);
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n; float *b = y + r * n, *w = work + r * n; float top = a[0], sum = 0.0f;
    for (int64_t j = 0; j < n; ++j) top = a[j] > top ? a[j] : top;
    for (int64_t j = 0; j < n; ++j) { w[j] = expf(a[j] - top); sum += w[j]; }
    const float scale = 1.0f / sum;
    for (int64_t j = 0; j < n; ++j) b[j] = w[j] * scale;
  }
}
"""
