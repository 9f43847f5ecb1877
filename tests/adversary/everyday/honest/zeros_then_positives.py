# problem: relu
# about: writes positive values alone, into memory that is zero

cpp = r"""
#include <cstdint>
extern "C" void run(const float* x, float* y, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) if (!(x[i] <= 0.0f)) y[i] = x[i];
}
"""


def forward(self, x):
    y = torch.zeros_like(x)
    lib.run(x, y, x.numel())
    return y
