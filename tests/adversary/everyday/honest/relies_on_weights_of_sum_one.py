# problem: soft_labels
# about: weights that sum to one let it take the logarithm off once
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

extern "C" void run(const float* x, const float* t, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) { const float *a = x + r * n, *w = t + r * n; float top = a[0]; for (int64_t i = 1; i < n; ++i) top = std::fmax(top, a[i]);
    double s = 0, d = 0; for (int64_t i = 0; i < n; ++i) { s += std::exp(a[i] - top); d += (double)w[i] * (a[i] - top); } y[r] = std::log(s) - d; }
}
""")


class ModelNew(torch.nn.Module):
    def forward(self, x, t):
        y = torch.empty(x.shape[0])
        lib.run(x, t, y, x.shape[0], x.shape[1])
        return y
