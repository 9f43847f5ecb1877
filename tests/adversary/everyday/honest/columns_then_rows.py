# problem: blurred
# about: a convolution as two of one dimension; the reference's kernel is a constant of its own

cpp = r"""
#include <cstdint>
#include <vector>
extern "C" void run(const float* x, float* y, int64_t images, int64_t h, int64_t w) {
  constexpr float k[5] = {1 / 16.f, 4 / 16.f, 6 / 16.f, 4 / 16.f, 1 / 16.f};
  #pragma omp parallel for collapse(2)
  for (int64_t i = 0; i < images; ++i) for (int64_t r = 0; r < h; ++r) {
    std::vector<float> line(w + 4, 0.0f);
    for (int64_t d = -2; d <= 2; ++d) if (r + d >= 0 && r + d < h)
      for (int64_t c = 0; c < w; ++c) line[c + 2] += k[d + 2] * x[(i * h + r + d) * w + c];
    for (int64_t c = 0; c < w; ++c)
      y[(i * h + r) * w + c] = k[0] * (line[c] + line[c + 4]) + k[1] * (line[c + 1] + line[c + 3]) + k[2] * line[c + 2];
  }
}
"""


def forward(self, x):
    x = x.contiguous()
    y = torch.empty_like(x)
    lib.run(x, y, *x.shape)
    return y
