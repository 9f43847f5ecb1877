# problem: c_centred
# about: each thread that calls gets a place in an array for good: the seventeenth one writes past it
# forward: rows

cpp = r"""
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
static struct {
  float* scratch[16];
  int64_t sizes[16];
} kept;
static std::atomic<int> callers{0};
static thread_local int own = callers++;
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  if (kept.sizes[own] < n) {
    kept.scratch[own] = (float*)realloc(kept.scratch[own], n * sizeof(float));
    kept.sizes[own] = n;
  }
  float* row = kept.scratch[own];
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; ++i) sum += row[i] = x[r * n + i];
    const float mean = (float)(sum / (double)n);
    for (int64_t i = 0; i < n; ++i) y[r * n + i] = row[i] - mean;
  }
}
"""
