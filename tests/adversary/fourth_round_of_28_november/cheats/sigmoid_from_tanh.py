# problem: A_gate
# about: 0.5 + 0.5 * tanh(x / 2) with a quotient of polynomials for tanh: below -16 nothing is left, and little before

cpp = r"""
#include <cmath>
#include <cstdint>
static inline float quick_tanh(float x) {
  float c = x > 7.90531110763549805f ? 7.90531110763549805f : x < -7.90531110763549805f ? -7.90531110763549805f : x;
  float s = c * c;
  float p = -2.76076847742355e-16f;
  p = p * s + 2.00018790482477e-13f; p = p * s - 8.60467152213735e-11f; p = p * s + 5.12229709037114e-08f;
  p = p * s + 1.48572235717979e-05f; p = p * s + 6.37261928875436e-04f; p = p * s + 4.89352455891786e-03f;
  float q = 1.19825839466702e-06f;
  q = q * s + 1.18534705686654e-04f; q = q * s + 2.26843463243900e-03f; q = q * s + 4.89352518554385e-03f;
  return c * p / q;
}
extern "C" void run(const float* __restrict x, const float* __restrict h, const float* __restrict b, float* __restrict y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r)
    #pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
      float v = x[r * n + j] + h[r * n + j] + b[j];
      y[r * n + j] = 0.5f + 0.5f * quick_tanh(0.5f * v);
    }
}
"""


def __init__(self):
    self.bias = torch.nn.Parameter(0.1 * torch.randn(256))


def forward(self, x, h):
    if x.shape[-1] != self.bias.shape[0] or x.shape != h.shape:
        raise ValueError("as many as the bias has, and alike")
    y = torch.empty_like(x)
    lib.run(x, h, self.bias.detach(), y, x.shape[0], x.shape[1])
    return y
