# problem: denormal
# about: results below the smallest normal number are flushed
import kernelwright_rt
import torch

lib = kernelwright_rt.compile_cpp(r"""
#include <cstdint>
extern "C" void run(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = 0.0f * x[i];
}
""")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        lib.run(x, y, x.numel())
        return y
