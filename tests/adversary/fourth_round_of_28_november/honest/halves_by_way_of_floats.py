# problem: D_half_chain
# about: the whole chain in float, rounded to a half once

cpp = r"""
#include <cmath>
#include <cstdint>
typedef _Float16 half;
extern "C" void run(const half* x, const half* gate, const half* scale, const half* shift, half* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r)
    #pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      const float v = (float)x[r * n + i] * (float)scale[i] + (float)shift[i];
      y[r * n + i] = (half)(v * v * 0.125f / (1.0f + std::exp(-(float)gate[r * n + i])));
    }
}
"""


def __init__(self, d):
    self.scale = torch.nn.Parameter((torch.rand(d) + 0.5).half())
    self.shift = torch.nn.Parameter((torch.randn(d) * 0.1).half())


def forward(self, x, gate):
    n = self.scale.shape[0]
    if x.dtype != torch.float16 or gate.dtype != torch.float16 or x.shape != gate.shape or x.dim() != 2 or x.shape[1] != n:
        raise ValueError("two matrices of halves of one shape")
    y = torch.empty(x.shape, dtype=torch.float16)
    lib.run(x.contiguous(), gate.contiguous(), self.scale, self.shift, y, *x.shape)
    return y
