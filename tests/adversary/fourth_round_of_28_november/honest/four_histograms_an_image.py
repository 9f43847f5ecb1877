# problem: D_equalised_images
# about: four histograms of int32 an image, so that neighbours of one value don't wait; those of int64 for images too large for that

cpp = r"""
#include <cstdint>
#include <cstring>
template <typename C>
static void equalised(const uint8_t* x, uint8_t* y, int64_t n) {
  C counts[4][256] = {};
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) { ++counts[0][x[i]]; ++counts[1][x[i + 1]]; ++counts[2][x[i + 2]]; ++counts[3][x[i + 3]]; }
  for (; i < n; ++i) ++counts[0][x[i]];
  uint8_t table[256]; int64_t upto = 0, first = 0;
  for (int v = 0; v < 256; ++v) {
    upto += (int64_t)counts[0][v] + counts[1][v] + counts[2][v] + counts[3][v];
    if (first == 0) first = upto;
    const int64_t rest = n - first > 1 ? n - first : 1;
    table[v] = (uint8_t)((upto - first) * 255 / rest);
  }
  if (first == n) { std::memset(y, 0, n); return; }
  for (i = 0; i < n; ++i) y[i] = table[x[i]];
}
extern "C" void run(const uint8_t* x, uint8_t* y, int64_t images, int64_t n) {
  #pragma omp parallel for
  for (int64_t b = 0; b < images; ++b)
    if (n <= INT32_MAX) equalised<int32_t>(x + b * n, y + b * n, n); else equalised<int64_t>(x + b * n, y + b * n, n);
}
"""


def forward(self, images):
    if images.dtype != torch.uint8 or images.dim() < 2:
        raise ValueError("images of bytes")
    y = torch.empty(images.shape, dtype=torch.uint8)
    n = images[0].numel() if images.shape[0] else 0
    lib.run(images.contiguous(), y, images.shape[0], n)
    return y
