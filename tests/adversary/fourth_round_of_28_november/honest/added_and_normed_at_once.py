# problem: D_add_and_norm_in_place
# about: one pass over each row adds in place, rounds as bfloat16 does and sums squares; the second is out of the cache

cpp = r"""
#include <cmath>
#include <cstdint>
#include <cstring>
static inline float wide(uint16_t v) { const uint32_t bits = (uint32_t)v << 16; float f; std::memcpy(&f, &bits, 4); return f; }
static inline uint16_t narrow(float f) {
  uint32_t bits; std::memcpy(&bits, &f, 4);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  return f != f ? 0x7fc0 : (uint16_t)rounded;
}
extern "C" void run(const uint16_t* x, uint16_t* residual, const float* weight, uint16_t* y, int64_t rows, int64_t n, double eps) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const uint16_t* a = x + r * n; uint16_t *own = residual + r * n, *to = y + r * n;
    float sum = 0;
    #pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) {
      own[i] = narrow(wide(own[i]) + wide(a[i]));
      const float v = wide(own[i]);
      sum += v * v;
    }
    const float by = 1.0f / std::sqrt(sum / (float)n + (float)eps);
    #pragma omp simd
    for (int64_t i = 0; i < n; ++i) to[i] = narrow(wide(own[i]) * by * weight[i]);
  }
}
"""


def __init__(self, d):
    self.weight = torch.nn.Parameter(torch.rand(d) + 0.5)


def forward(self, x, residual, eps=1e-5):
    n = self.weight.shape[0]
    if x.dtype != torch.bfloat16 or residual.dtype != torch.bfloat16 or x.shape != residual.shape or x.shape[-1] != n:
        raise ValueError("two tensors of bfloat16 of one shape")
    if not residual.is_contiguous():
        raise ValueError("the residual has to be dense, it is changed in place")
    x, y = x.contiguous(), torch.empty(x.shape, dtype=torch.bfloat16)
    lib.run(x, residual, self.weight, y, x.numel() // n if n else 0, n, eps)
    return y
