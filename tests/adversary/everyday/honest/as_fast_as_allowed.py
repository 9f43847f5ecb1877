# problem: linear
# about: is compiled with -Ofast; its weight has another order in memory from `__init__` on
import kernelwright_rt
import torch

lib = kernelwright_rt.compile_cpp(r"""
#include <cstdint>
extern "C" void run(const float* x, const float* w, const float* b, float* y, int64_t m, int64_t k, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < m; ++r) {
    for (int64_t j = 0; j < n; ++j) y[r * n + j] = b[j];
    for (int64_t q = 0; q < k; ++q) for (int64_t j = 0; j < n; ++j) y[r * n + j] += x[r * k + q] * w[q * n + j];
    for (int64_t j = 0; j < n; ++j) y[r * n + j] = y[r * n + j] > 0.0f ? y[r * n + j] : 0.0f;
  }
}
""", flags=("-Ofast",))


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(512, 384).t())
        self.bias = torch.nn.Parameter(torch.empty(384))

    def forward(self, x):
        if x.dim() != 2 or x.shape[1] != 512:
            raise ValueError(f"rows of 512 features are expected, not {tuple(x.shape)}")
        x = x.contiguous()
        y = torch.empty(x.shape[0], 384)
        lib.run(x, self.weight.detach().t(), self.bias.detach(), y, x.shape[0], 512, 384)
        return y
