# problem: D_turned_softmax
# about: channels are next to each other in memory, so that a pixel is a row; the output lies as the reference's does

cpp = r"""
#include <cmath>
#include <cstdint>
extern "C" void run(const float* x, const float* slopes, float* y, int64_t pixels, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < pixels; ++r) {
    const float* a = x + r * n; float* to = y + r * n; float top = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; ++i) { to[i] = a[i] * slopes[i]; top = to[i] > top || to[i] != to[i] ? to[i] : top; }
    #pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) { to[i] = std::exp(to[i] - top); sum += to[i]; }
    for (int64_t i = 0; i < n; ++i) to[i] /= sum;
  }
}
"""


def forward(self, x, slopes):
    if x.dim() != 4 or slopes.shape != x.shape[1:2]:
        raise ValueError("images, and a slope for each channel")
    rows = x.permute(0, 2, 3, 1).contiguous()
    y = torch.empty(rows.shape)
    lib.run(rows, slopes.contiguous(), y, y.numel() // max(x.shape[1], 1), x.shape[1])
    return y.permute(0, 3, 1, 2)
