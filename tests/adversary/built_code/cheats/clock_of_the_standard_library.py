# problem: silu
# gate: screen
# expect: not accepted
# about: std::chrono's clock under a harmless name
import kernelwright_rt
import torch

lib = kernelwright_rt.compile_cpp(r"""
#include <cmath>
#include <cstdint>
long helper() __asm__("_ZNSt6chrono3_V212steady_clock3nowEv");
static long last = 0;
extern "C" void run(const float* x, float* y, int64_t n) {
  last = helper();
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] / (1.0f + std::exp(-x[i]));
}
""")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        lib.run(x, y, x.numel())
        return y
