# problem: unit_vectors
# about: divides the products by the lengths of both rows

cpp = r"""
#include <cmath>
#include <cstdint>
#include <vector>
static float length(const float* a, int64_t n) { float s = 0;
  #pragma omp simd reduction(+ : s)
  for (int64_t i = 0; i < n; ++i) s += a[i] * a[i];
  return std::fmax(std::sqrt(s), 1e-8f); }
extern "C" void run(const float* q, const float* k, float* y, int64_t rows, int64_t keys, int64_t n) {
  std::vector<float> lengths(keys);
  #pragma omp parallel for
  for (int64_t c = 0; c < keys; ++c) lengths[c] = 1.0f / length(k + c * n, n);
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) { const float own = 1.0f / length(q + r * n, n);
    for (int64_t c = 0; c < keys; ++c) {
    const float *a = q + r * n, *b = k + c * n; float sum = 0;
    #pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
    y[r * keys + c] = sum * own * lengths[c]; } }
}
"""


def forward(self, query, keys):
    rows, n = query.shape
    count, m = keys.shape
    if n != m:
        raise ValueError("rows of one length")
    y = torch.empty(rows, count)
    lib.run(query.contiguous(), keys.contiguous(), y, rows, count, n)
    return y
