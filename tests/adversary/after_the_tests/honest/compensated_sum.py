# problem: softsign_small
# about: adds with Kahan's correction, on calls that are timed in batches
import torch
import kernelwright_rt

lib = kernelwright_rt.compile_cpp(r"""
#include <cmath>
#include <cstdint>
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; ++r) {
    float s = 0, lost = 0;
    for (int64_t i = 0; i < n; ++i) {
      const float v = x[r * n + i], term = v / (1.0f + std::fabs(v)) - lost, next = s + term;
      lost = (next - s) - term;
      s = next;
    }
    y[r] = s / n;
  }
}
""")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[0])
        lib.run(x, y, x.shape[0], x.shape[1])
        return y
