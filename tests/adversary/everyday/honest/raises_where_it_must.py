# problem: winsorised
# about: floats, a truth value and a text as arguments; raises early, returns early
import math

import kernelwright_rt
import torch

lib = kernelwright_rt.compile_cpp(r"""
#include <cmath>
#include <cstdint>
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n, float low, float high, int32_t centre, int32_t clip) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (int64_t i = r * n; i < (r + 1) * n; ++i) {
      float v = x[i];
      y[i] = clip ? (v < low ? low : v > high ? high : v) : std::tanh(v / high) * high; sum += y[i]; }
    if (centre) { float m = (float)(sum / (double)n); for (int64_t i = r * n; i < (r + 1) * n; ++i) y[i] -= m; }
  }
}
""")


class ModelNew(torch.nn.Module):
    def forward(self, x, low, high, centre, mode):
        if mode not in ("clip", "squash"):
            raise ValueError(f"mode is {mode!r}: write 'clip' or 'squash'")
        if x.dim() != 2:
            raise ValueError(f"two dimensions are expected, not {x.dim()}")
        if x.numel() == 0:
            return torch.empty(x.shape)
        if math.isnan(low) or low > high:
            low = high
        x = x.contiguous()
        y = torch.empty_like(x)
        lib.run(x, y, x.shape[0], x.shape[1], low, high, int(centre), int(mode == "clip"))
        return y
