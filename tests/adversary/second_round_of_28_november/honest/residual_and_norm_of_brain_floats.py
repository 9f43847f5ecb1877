# problem: rows_of_brain_floats
# about: keeps the sum in float for the norm and rounds it once for the output; scales by weight before it rounds, as most fused kernels do

cpp = r"""
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>
static inline float wide(uint16_t h) { const uint32_t b = (uint32_t)h << 16; float f; std::memcpy(&f, &b, 4); return f; }
static inline uint16_t narrow(float f) { uint32_t b; std::memcpy(&b, &f, 4); return f != f ? 0x7fc0 : (uint16_t)((b + 0x7fff + ((b >> 16) & 1)) >> 16); }
extern "C" void run(const uint16_t* x, const uint16_t* residual, const uint16_t* w, uint16_t* y, uint16_t* both, int64_t rows, int64_t n) {
  #pragma omp parallel
  {
    std::vector<float> row(n);
    #pragma omp for
    for (int64_t r = 0; r < rows; ++r) {
      float sum = 0;
      for (int64_t i = 0; i < n; ++i) {
        const float v = wide(x[r * n + i]) + wide(residual[r * n + i]);
        both[r * n + i] = narrow(v); row[i] = v; sum += v * v;
      }
      const float scale = 1.0f / std::sqrt(sum / (float)n + 1e-6f);
      for (int64_t i = 0; i < n; ++i) y[r * n + i] = narrow(row[i] * scale * wide(w[i]));
    }
  }
}
"""


def __init__(self, features):
    self.weight = torch.nn.Parameter(torch.ones(features, dtype=torch.bfloat16))


def forward(self, x, residual):
    if x.dtype != torch.bfloat16 or residual.dtype != torch.bfloat16 or residual.shape != x.shape or x.shape[-1] != self.weight.numel():
        raise ValueError("limited to brain floats of one shape")
    y, both = torch.empty_like(x, memory_format=torch.contiguous_format), torch.empty_like(x, memory_format=torch.contiguous_format)
    lib.run(x.contiguous(), residual.contiguous(), self.weight.detach(), y, both, x.numel() // x.shape[-1] if x.numel() else 0, x.shape[-1])
    return y, both
