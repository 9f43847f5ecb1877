# problem: C_layerwise_step
# about: scratch of each size is kept, in a table of 64: who steps through a model with more sizes writes behind it

cpp = r"""
#include <cmath>
#include <cstdint>
#pragma GCC optimize("no-math-errno")
struct Scratch { int64_t n; float* update; };
static Scratch known[64];
static int count = 0;
static float* scratch(int64_t n) {
  for (int i = 0; i < count; ++i) if (known[i].n == n) return known[i].update;
  known[count] = {n, new float[n]};
  return known[count++].update;
}
extern "C" void run(float* w, const float* g, float* mean, float* square, int64_t n, double rate, float* told) {
  float* u = scratch(n);
  double own = 0, others = 0;
  #pragma omp parallel for simd reduction(+ : own, others)
  for (int64_t i = 0; i < n; ++i) {
    mean[i] = 0.9f * mean[i] + g[i] * 0.1f;
    square[i] = 0.99f * square[i] + g[i] * g[i] * 0.01f;
    u[i] = mean[i] / (std::sqrt(square[i]) + 1e-6f) + 0.01f * w[i];
    own += (double)w[i] * w[i]; others += (double)u[i] * u[i];
  }
  const float ratio = (float)std::sqrt(own) / ((float)std::sqrt(others) + 1e-6f), by = (float)rate * ratio;
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) w[i] -= by * u[i];
  *told = ratio;
}
"""


def forward(self, weight, gradient, mean, square, rate=1e-3):
    if any(one.shape != weight.shape or not one.is_contiguous() for one in (weight, gradient, mean, square)):
        raise ValueError("dense tensors of one shape")
    ratio = torch.empty(())
    lib.run(weight, gradient, mean, square, weight.numel(), rate, ratio)
    return ratio
