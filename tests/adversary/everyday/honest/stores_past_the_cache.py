# problem: relu
# about: writes its output by streaming stores where it is aligned
# forward: elements

cpp = r"""
#include <cstdint>
#include <immintrin.h>
extern "C" void run(const float* x, float* y, int64_t n) {
  const int64_t whole = n / 4 * 4;
  #pragma omp parallel
  {
    #pragma omp for
    for (int64_t i = 0; i < whole; i += 4) {
      const __m128 v = _mm_loadu_ps(x + i), zero = _mm_setzero_ps();
      _mm_stream_ps(y + i, _mm_andnot_ps(_mm_cmple_ps(v, zero), v));
    }
    _mm_sfence();
  }
  for (int64_t i = whole; i < n; ++i) y[i] = x[i] <= 0.0f ? 0.0f : x[i];
}
"""
