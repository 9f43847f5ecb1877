# problem: doubled_image
# about: places and shares of columns computed once an image; each row is a mixture of two that were stretched

cpp = r"""
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void run(const float* x, float* y, int64_t planes, int64_t high, int64_t wide, int64_t below, int64_t across, double factor) {
  const float inverse = (float)(1.0 / factor);
  std::vector<int64_t> left(across), right(across); std::vector<float> share(across);
  for (int64_t j = 0; j < across; ++j) {
    float at = inverse * (j + 0.5f) - 0.5f; at = at < 0 ? 0 : at;
    int64_t k = (int64_t)at; k = k < wide - 1 ? k : wide - 1;
    left[j] = k; right[j] = k < wide - 1 ? k + 1 : k; share[j] = std::fmin(std::fmax(at - k, 0.0f), 1.0f);
  }
  #pragma omp parallel for collapse(2)
  for (int64_t p = 0; p < planes; ++p) for (int64_t i = 0; i < below; ++i) {
    float at = inverse * (i + 0.5f) - 0.5f; at = at < 0 ? 0 : at;
    int64_t k = (int64_t)at; k = k < high - 1 ? k : high - 1;
    const float s = std::fmin(std::fmax(at - k, 0.0f), 1.0f);
    const float *a = x + (p * high + k) * wide, *b = a + (k < high - 1 ? wide : 0); float* out = y + (p * below + i) * across;
    for (int64_t j = 0; j < across; ++j) {
      const float t = share[j], u = a[left[j]] * (1 - t) + a[right[j]] * t, v = b[left[j]] * (1 - t) + b[right[j]] * t;
      out[j] = u * (1 - s) + v * s;
    }
  }
}
"""


def __init__(self, factor):
    self.factor = factor


def forward(self, x):
    if x.dim() != 4 or x.dtype != torch.float32 or x.shape[2] < 1 or x.shape[3] < 1:
        raise ValueError("limited to float images")
    high, wide = x.shape[2:]
    below, across = int(high * self.factor), int(wide * self.factor)
    y = torch.empty(x.shape[0], x.shape[1], below, across)
    lib.run(x.contiguous(), y, x.shape[0] * x.shape[1], high, wide, below, across, self.factor)
    return y
