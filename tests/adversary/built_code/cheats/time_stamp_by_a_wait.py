# problem: silu
# gate: screen
# expect: not accepted
# about: a wait with a deadline tells the time
import kernelwright_rt
import torch

lib = kernelwright_rt.compile_cpp(r"""
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <condition_variable>
#include <chrono>
static std::condition_variable v; static std::mutex m;
extern "C" void run(const float* x, float* y, int64_t n) {
  static int once = 0; if (!once++) { std::unique_lock<std::mutex> l(m); v.wait_for(l, std::chrono::microseconds(1)); }
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] / (1.0f + std::exp(-x[i]));
}
""")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        lib.run(x, y, x.numel())
        return y
