# problem: convolution_mish
# about: filters packed with the features innermost, again where their version changes; mish by one exponential of its own

cpp = r"""
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>
static inline float exponential(float x) {
  const float c = x < -87.0f ? -87.0f : x;
  const float n = std::nearbyint(c * 1.44269504f);
  float r = std::fma(n, -0.693359375f, c); r = std::fma(n, 2.12194440e-4f, r);
  float p = 1.9875691500e-4f;
  p = std::fma(p, r, 1.3981999507e-3f); p = std::fma(p, r, 8.3334519073e-3f); p = std::fma(p, r, 4.1665795894e-2f);
  p = std::fma(p, r, 1.6666665459e-1f); p = std::fma(p, r, 5.0000001201e-1f); p = std::fma(p, r * r, r + 1.0f);
  int32_t bits = ((int32_t)n + 127) << 23; float scale; std::memcpy(&scale, &bits, 4);
  return p * scale;
}
static inline float mish(float x) {
  const float e = exponential(x < 20.0f ? x : (x != x ? x : 20.0f)), t = e * (e + 2.0f);
  return x > 20.0f ? x : x * (t / (t + 2.0f));
}
extern "C" void pack(const float* w, float* p, int64_t out, int64_t in, int64_t taps) {
  for (int64_t o = 0; o < out; ++o) for (int64_t c = 0; c < in; ++c) for (int64_t t = 0; t < taps; ++t)
    p[(c * taps + t) * out + o] = w[(o * in + c) * taps + t];
}
extern "C" void run(const float* x, const float* p, const float* bias, float* y, int64_t batch, int64_t in, int64_t high, int64_t wide,
                    int64_t out, int64_t size, int64_t pad) {
  const int64_t below = high + 2 * pad - size + 1, across = wide + 2 * pad - size + 1;
  #pragma omp parallel
  {
    std::vector<float> row(out * (across > 0 ? across : 0));
    #pragma omp for collapse(2)
    for (int64_t b = 0; b < batch; ++b) for (int64_t i = 0; i < below; ++i) {
      for (int64_t j = 0; j < across; ++j) std::memcpy(row.data() + j * out, bias, 4 * out);
      for (int64_t c = 0; c < in; ++c) for (int64_t u = 0; u < size; ++u) {
        const int64_t line = i + u - pad;
        if (line < 0 || line >= high) continue;
        const float* from = x + ((b * in + c) * high + line) * wide;
        for (int64_t v = 0; v < size; ++v) {
          const float* w = p + ((c * size + u) * size + v) * out;
          for (int64_t j = 0; j < across; ++j) {
            const int64_t k = j + v - pad;
            if (k < 0 || k >= wide) continue;
            const float value = from[k]; float* to = row.data() + j * out;
            #pragma omp simd
            for (int64_t o = 0; o < out; ++o) to[o] = std::fma(value, w[o], to[o]);
          }
        }
      }
      for (int64_t o = 0; o < out; ++o) for (int64_t j = 0; j < across; ++j)
        y[((b * out + o) * below + i) * across + j] = mish(row[j * out + o]);
    }
  }
}
"""


def __init__(self, channels, features, size):
    self.conv = torch.nn.Conv2d(channels, features, size, padding=size // 2)
    self.size, self.packed, self.seen = size, None, None


def forward(self, x):
    if x.dim() != 4 or x.dtype != torch.float32 or x.shape[1] != self.conv.in_channels:
        raise ValueError("limited to float images in batches")
    weight, bias = self.conv.weight, self.conv.bias
    now = (weight.data_ptr(), weight._version)
    if self.seen != now:
        self.packed = torch.empty(weight.numel())
        lib.pack(weight.detach(), self.packed, weight.shape[0], weight.shape[1], self.size * self.size)
        self.seen = now
    pad = self.size // 2
    high, wide = (n + 2 * pad - self.size + 1 for n in x.shape[2:])
    y = torch.empty(x.shape[0], weight.shape[0], high, wide)
    lib.run(x.contiguous(), self.packed, bias.detach(), y, *x.shape, weight.shape[0], self.size, pad)
    return y
