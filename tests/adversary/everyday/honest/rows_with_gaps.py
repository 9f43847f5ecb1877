# problem: silu
# about: rows of the output begin at a multiple of a page, and have gaps between them
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

extern "C" void run(const float* x, int64_t out, int64_t rows, int64_t n, int64_t step) {
  float* y = (float*)out;
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) for (int64_t i = 0; i < n; ++i) y[r * step + i] = x[r * n + i] / (1.0f + ex(-x[r * n + i]));
}
""")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, n = x.shape
        step = (n + 1023) // 1024 * 1024
        y = torch.empty(rows, step)
        lib.run(x, y.data_ptr(), rows, n, step)
        return y[:, :n]
