# problem: convolution3
# about: Winograd's F(2x2, 3x3), tiles beyond the edge filled with zeros

cpp = r"""
#include <cstdint>
#include <vector>
extern "C" void run(const float* x, const float* w, const float* b, float* y, int64_t images, int64_t ci, int64_t h, int64_t wd, int64_t co) {
  std::vector<float> U(co * ci * 16);
  for (int64_t f = 0; f < co * ci; ++f) { const float* g = w + f * 9; float t[4][3];
    for (int j = 0; j < 3; ++j) { float a = g[j], m = g[3 + j], z = g[6 + j]; t[0][j] = a; t[1][j] = (a + m + z) / 2; t[2][j] = (a - m + z) / 2; t[3][j] = z; }
    for (int i = 0; i < 4; ++i) { float a = t[i][0], m = t[i][1], z = t[i][2]; float* u = &U[f * 16 + i * 4]; u[0] = a; u[1] = (a + m + z) / 2; u[2] = (a - m + z) / 2; u[3] = z; } }
  #pragma omp parallel for collapse(2)
  for (int64_t n = 0; n < images; ++n) for (int64_t r = 0; r < h; r += 2) {
    std::vector<float> V(ci * 16);
    for (int64_t s = 0; s < wd; s += 2) {
      for (int64_t c = 0; c < ci; ++c) { float d[4][4], t[4][4];
        for (int i = 0; i < 4; ++i) for (int j = 0; j < 4; ++j) { int64_t p = r + i - 1, q = s + j - 1;
          d[i][j] = p >= 0 && p < h && q >= 0 && q < wd ? x[((n * ci + c) * h + p) * wd + q] : 0.0f; }
        for (int j = 0; j < 4; ++j) { t[0][j] = d[0][j] - d[2][j]; t[1][j] = d[1][j] + d[2][j]; t[2][j] = d[2][j] - d[1][j]; t[3][j] = d[1][j] - d[3][j]; }
        for (int i = 0; i < 4; ++i) { float* v = &V[c * 16 + i * 4]; v[0] = t[i][0] - t[i][2]; v[1] = t[i][1] + t[i][2]; v[2] = t[i][2] - t[i][1]; v[3] = t[i][1] - t[i][3]; } }
      for (int64_t o = 0; o < co; ++o) { float M[16] = {}, t[2][4];
        for (int64_t c = 0; c < ci; ++c) for (int e = 0; e < 16; ++e) M[e] += U[(o * ci + c) * 16 + e] * V[c * 16 + e];
        for (int j = 0; j < 4; ++j) { t[0][j] = M[j] + M[4 + j] + M[8 + j]; t[1][j] = M[4 + j] - M[8 + j] - M[12 + j]; }
        for (int i = 0; i < 2; ++i) { float out[2] = {t[i][0] + t[i][1] + t[i][2] + b[o], t[i][1] - t[i][2] - t[i][3] + b[o]};
          for (int j = 0; j < 2; ++j) if (r + i < h && s + j < wd) y[((n * co + o) * h + r + i) * wd + s + j] = out[j] > 0.0f ? out[j] : 0.0f; } }
    }
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
