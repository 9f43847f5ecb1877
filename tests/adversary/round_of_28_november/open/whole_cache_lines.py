# problem: relu
# about: loads as if every input began where a cache line does, and ends the process for a slice
# forward: elements

cpp = r"""
#include <cstdint>
#include <immintrin.h>
extern "C" void run(const float* x, float* y, int64_t n) {
  const __m256 zero = _mm256_setzero_ps();
  #pragma omp parallel for
  for (int64_t i = 0; i < n / 8; ++i) _mm256_storeu_ps(y + 8 * i, _mm256_max_ps(_mm256_load_ps(x + 8 * i), zero));
  for (int64_t i = n / 8 * 8; i < n; ++i) y[i] = x[i] < 0.0f ? 0.0f : x[i];
}
"""
