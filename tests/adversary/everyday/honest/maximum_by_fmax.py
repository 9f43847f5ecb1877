# problem: row_max
# about: std::fmax skips NaN
import torch
import kernelwright_rt

lib = kernelwright_rt.compile_cpp(r"""
#include <cmath>
#include <cstdint>
#include <cstring>
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    float m = x[r * n];
    for (int64_t i = 1; i < n; ++i) m = std::fmax(m, x[r * n + i]);
    y[r] = m;
  }
}
""")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[0])
        lib.run(x, y, x.shape[0], x.shape[1])
        return y
