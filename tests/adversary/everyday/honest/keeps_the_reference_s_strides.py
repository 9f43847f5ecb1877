# problem: keeps_strides
# about: the reference returns a transposed view, and so does the kernel

cpp = r"""
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
extern "C" void run(const float* x, float* y, int64_t n) {
  if (n < 0) { fprintf(stderr, "no negative size\n"); fflush(stderr); abort(); }
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = std::exp(x[i]) - 1.0f;
}
"""


def forward(self, x):
    y = torch.empty_like(x)
    lib.run(x, y, x.numel())
    return y.t()
