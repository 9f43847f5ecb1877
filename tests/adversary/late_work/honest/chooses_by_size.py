# problem: softsign_mean
# about: few rows by one thread, many by all
import torch
import kernelwright_rt

lib = kernelwright_rt.compile_cpp(r"""
#include <cmath>
#include <cstdint>
static void work(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for if (rows * n > 16384)
  for (int64_t r = 0; r < rows; ++r) {
    float s = 0;
    #pragma omp simd reduction(+ : s)
    for (int64_t i = 0; i < n; ++i) { float v = x[r * n + i]; s += v / (1.0f + std::fabs(v)); }
    y[r] = s / n;
  }
}
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) { work(x, y, rows, n); }
""")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[0])
        lib.run(x, y, x.shape[0], x.shape[1])
        return y
