# problem: convolution3
# about: im2col and a product

cpp = r"""
#include <cstdint>
#include <vector>
extern "C" void run(const float* x, const float* w, const float* b, float* y, int64_t images, int64_t ci, int64_t h, int64_t wd, int64_t co) {
  int64_t p = h * wd, k = ci * 9;
  #pragma omp parallel for
  for (int64_t i = 0; i < images; ++i) {
    std::vector<float> col(k * p, 0.0f);
    for (int64_t c = 0; c < ci; ++c) for (int64_t a = 0; a < 3; ++a) for (int64_t e = 0; e < 3; ++e)
      for (int64_t r = 0; r < h; ++r) for (int64_t s = 0; s < wd; ++s) {
        int64_t u = r + a - 1, v = s + e - 1;
        if (u >= 0 && u < h && v >= 0 && v < wd) col[((c * 3 + a) * 3 + e) * p + r * wd + s] = x[((i * ci + c) * h + u) * wd + v]; }
    for (int64_t o = 0; o < co; ++o) { float* out = y + (i * co + o) * p;
      for (int64_t q = 0; q < p; ++q) out[q] = b[o];
      for (int64_t m = 0; m < k; ++m) { float f = w[o * k + m]; for (int64_t q = 0; q < p; ++q) out[q] += f * col[m * p + q]; }
      for (int64_t q = 0; q < p; ++q) out[q] = out[q] < 0.0f ? 0.0f : out[q]; }
  }
}
"""


def __init__(self, inputs, outputs):
    self.conv = torch.nn.Conv2d(inputs, outputs, 3, padding=1)


def forward(self, x):
    x = x.contiguous()
    if x.dim() != 4 or x.shape[1] != self.conv.in_channels:
        raise ValueError(f"images of {self.conv.in_channels} channels are expected")
    n, c, h, w = x.shape
    y = torch.empty(n, self.conv.out_channels, h, w)
    lib.run(x, self.conv.weight, self.conv.bias, y, n, c, h, w, y.shape[1])
    return y
