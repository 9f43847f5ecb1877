# problem: row_sums
# about: tasks of OpenMP, a reduction that it declares itself, and a critical section
import kernelwright_rt
import torch

lib = kernelwright_rt.compile_cpp(r"""
#include <cmath>
#include <cstdint>
#include <cstring>
static inline float ex(float v) {
  float given = v; v = std::fmin(std::fmax(v, -87.0f), 88.0f) * 1.44269504f;
  float k = std::nearbyint(v), f = (v - k) * 0.69314718f;
  float p = 1.0f + f * (1.0f + f * (0.5f + f * (0.16666667f + f * (0.041666668f + f * (0.0083333f + f * 0.0013889f)))));
  int32_t b = ((int32_t)k + 127) << 23; float s; std::memcpy(&s, &b, 4); return given > 88.0f ? INFINITY : p * s;
}

struct Sum { double value = 0; };
#pragma omp declare reduction(add : Sum : omp_out.value += omp_in.value)
static float row(const float* in, int64_t n) { Sum s;
  #pragma omp simd reduction(add : s)
  for (int64_t i = 0; i < n; ++i) s.value += in[i] / (1.0f + ex(-in[i]));
  return (float)s.value; }
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  int64_t done = 0;
  #pragma omp parallel
  #pragma omp single
  for (int64_t b = 0; b < rows; b += 16) {
    #pragma omp task firstprivate(b)
    {
      for (int64_t r = b; r < b + 16 && r < rows; ++r) y[r] = row(x + r * n, n);
      #pragma omp critical
      ++done;
    }
  }
}
""")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[0])
        lib.run(x, y, x.shape[0], x.shape[1])
        return y
