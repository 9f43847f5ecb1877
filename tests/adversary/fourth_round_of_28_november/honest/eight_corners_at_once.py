# problem: D_colours_by_a_cube
# about: reads eight corners of a pixel's cell and interpolates along one axis after the other; what is no number gives no number

cpp = r"""
#include <algorithm>
#include <cmath>
#include <cstdint>
extern "C" void run(const float* image, const float* cube, float* y, int64_t images, int64_t pixels, int64_t a, int64_t channels) {
  #pragma omp parallel for collapse(2) schedule(static, 256)
  for (int64_t b = 0; b < images; ++b) for (int64_t p = 0; p < pixels; ++p) {
    int64_t low[3]; float share[3]; bool missing = false;
    for (int c = 0; c < 3; ++c) {
      const float v = image[(b * 3 + c) * pixels + p];
      missing |= v != v;
      const float at = std::min(std::max(v != v ? 0.0f : v, 0.0f), 1.0f) * (float)(a - 1);
      low[c] = std::min((int64_t)at, a - 2); share[c] = at - (float)low[c];
    }
    const float* cell = cube + ((low[0] * a + low[1]) * a + low[2]) * channels;
    for (int64_t c = 0; c < channels; ++c) {
      float edges[4];
      for (int k = 0; k < 4; ++k) {
        const float* from = cell + ((k >> 1) * a + (k & 1)) * a * channels + c;
        edges[k] = from[0] * (1 - share[2]) + from[channels] * share[2];
      }
      const float near = edges[0] * (1 - share[1]) + edges[1] * share[1], far = edges[2] * (1 - share[1]) + edges[3] * share[1];
      y[(b * channels + c) * pixels + p] = missing ? NAN : near * (1 - share[0]) + far * share[0];
    }
  }
}
"""


def forward(self, image, cube):
    size = cube.shape[0]
    if image.dim() != 4 or image.shape[1] != 3 or cube.dim() != 4 or cube.shape[1:] != (size, size, 3) or size < 2:
        raise ValueError("images of three colours, and a cube with two places an axis at least")
    y = torch.empty(image.shape)
    lib.run(image.contiguous(), cube.contiguous(), y, image.shape[0], image.shape[2] * image.shape[3], size, 3)
    return y
