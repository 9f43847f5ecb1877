# problem: plain_convolution
# about: Winograd's transform of 4x4 tiles in float; filters transformed again where their version changes

cpp = r"""
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>
extern "C" void filters(const float* w, float* u, int64_t out, int64_t in) {
  for (int64_t o = 0; o < out; ++o) for (int64_t c = 0; c < in; ++c) {
    const float* g = w + (o * in + c) * 9; float t[4][3];
    for (int j = 0; j < 3; ++j) { t[0][j] = g[j]; t[1][j] = 0.5f * (g[j] + g[3 + j] + g[6 + j]); t[2][j] = 0.5f * (g[j] - g[3 + j] + g[6 + j]); t[3][j] = g[6 + j]; }
    for (int i = 0; i < 4; ++i) {
      const float v[4] = {t[i][0], 0.5f * (t[i][0] + t[i][1] + t[i][2]), 0.5f * (t[i][0] - t[i][1] + t[i][2]), t[i][2]};
      for (int j = 0; j < 4; ++j) u[((i * 4 + j) * in + c) * out + o] = v[j];
    }
  }
}
extern "C" void run(const float* x, const float* u, float* y, int64_t batch, int64_t in, int64_t high, int64_t wide, int64_t out) {
  const int64_t below = (high + 1) / 2, across = (wide + 1) / 2;
  #pragma omp parallel
  {
    std::vector<float> d(16 * in), m(16 * out);
    #pragma omp for collapse(3)
    for (int64_t b = 0; b < batch; ++b) for (int64_t p = 0; p < below; ++p) for (int64_t q = 0; q < across; ++q) {
      for (int64_t c = 0; c < in; ++c) {
        float a[4][4], t[4][4];
        for (int i = 0; i < 4; ++i) for (int j = 0; j < 4; ++j) {
          const int64_t r = 2 * p + i - 1, s = 2 * q + j - 1;
          a[i][j] = r >= 0 && r < high && s >= 0 && s < wide ? x[((b * in + c) * high + r) * wide + s] : 0.0f;
        }
        for (int j = 0; j < 4; ++j) { t[0][j] = a[0][j] - a[2][j]; t[1][j] = a[1][j] + a[2][j]; t[2][j] = a[2][j] - a[1][j]; t[3][j] = a[1][j] - a[3][j]; }
        for (int i = 0; i < 4; ++i) {
          d[(i * 4) * in + c] = t[i][0] - t[i][2]; d[(i * 4 + 1) * in + c] = t[i][1] + t[i][2];
          d[(i * 4 + 2) * in + c] = t[i][2] - t[i][1]; d[(i * 4 + 3) * in + c] = t[i][1] - t[i][3];
        }
      }
      std::fill(m.begin(), m.end(), 0.0f);
      for (int k = 0; k < 16; ++k) for (int64_t c = 0; c < in; ++c) {
        const float v = d[k * in + c]; const float* from = u + (k * in + c) * out; float* to = m.data() + k * out;
        #pragma omp simd
        for (int64_t o = 0; o < out; ++o) to[o] += v * from[o];
      }
      for (int64_t o = 0; o < out; ++o) {
        float s[2][4];
        for (int j = 0; j < 4; ++j) {
          s[0][j] = m[j * out + o] + m[(4 + j) * out + o] + m[(8 + j) * out + o];
          s[1][j] = m[(4 + j) * out + o] - m[(8 + j) * out + o] - m[(12 + j) * out + o];
        }
        for (int i = 0; i < 2; ++i) {
          const float z[2] = {s[i][0] + s[i][1] + s[i][2], s[i][1] - s[i][2] - s[i][3]};
          for (int j = 0; j < 2; ++j) if (2 * p + i < high && 2 * q + j < wide)
            y[((b * out + o) * high + 2 * p + i) * wide + 2 * q + j] = z[j] < 0.0f ? 0.0f : z[j];
        }
      }
    }
  }
}
"""


def __init__(self, channels, features):
    self.conv = torch.nn.Conv2d(channels, features, 3, padding=1, bias=False)
    self.turned, self.seen = None, None


def forward(self, x):
    weight = self.conv.weight
    if x.dim() != 4 or x.shape[1] != weight.shape[1] or x.dtype != torch.float32:
        raise ValueError("limited to float images in batches")
    now = (weight.data_ptr(), weight._version)
    if self.seen != now:
        self.turned = torch.empty(16 * weight.shape[0] * weight.shape[1])
        lib.filters(weight.detach(), self.turned, weight.shape[0], weight.shape[1])
        self.seen = now
    y = torch.empty(x.shape[0], weight.shape[0], *x.shape[2:])
    lib.run(x.contiguous(), self.turned, y, *x.shape, weight.shape[0])
    return y
