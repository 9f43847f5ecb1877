# problem: D_median_of_nine
# about: nineteen exchanges give the median of nine, for a row of pixels at once; who has a NaN among the nine gives NaN

cpp = r"""
#include <algorithm>
#include <cmath>
#include <cstdint>
extern "C" void run(const float* x, float* y, int64_t images, int64_t h, int64_t w) {
  static const int pairs[19][2] = {{1, 2}, {4, 5}, {7, 8}, {0, 1}, {3, 4}, {6, 7}, {1, 2}, {4, 5}, {7, 8}, {0, 3},
                                   {5, 8}, {4, 7}, {3, 6}, {1, 4}, {2, 5}, {4, 7}, {4, 2}, {6, 4}, {4, 2}};
  #pragma omp parallel for collapse(2)
  for (int64_t b = 0; b < images; ++b) for (int64_t i = 0; i < h; ++i) {
    const float* rows[3];
    for (int k = 0; k < 3; ++k) rows[k] = x + (b * h + std::clamp<int64_t>(i + k - 1, 0, h - 1)) * w;
    for (int64_t first = 0; first < w; first += 16) {
      float p[9][16]; bool missing[16] = {};
      const int64_t n = std::min<int64_t>(16, w - first);
      for (int k = 0; k < 9; ++k) for (int64_t j = 0; j < n; ++j) {
        p[k][j] = rows[k / 3][std::clamp<int64_t>(first + j + k % 3 - 1, 0, w - 1)];
        missing[j] |= p[k][j] != p[k][j];
      }
      for (int64_t j = n; j < 16; ++j) for (int k = 0; k < 9; ++k) p[k][j] = 0;
      for (const auto& pair : pairs) {
        float *a = p[pair[0]], *c = p[pair[1]];
        #pragma omp simd
        for (int j = 0; j < 16; ++j) { const float low = a[j] < c[j] ? a[j] : c[j], high = a[j] < c[j] ? c[j] : a[j]; a[j] = low; c[j] = high; }
      }
      for (int64_t j = 0; j < n; ++j) y[(b * h + i) * w + first + j] = missing[j] ? NAN : p[4][j];
    }
  }
}
"""


def forward(self, images):
    if images.dim() != 4 or not images.shape[2] or not images.shape[3]:
        raise ValueError("images of at least one pixel")
    y = torch.empty(images.shape)
    lib.run(images.contiguous(), y, images.shape[0] * images.shape[1], *images.shape[2:])
    return y
