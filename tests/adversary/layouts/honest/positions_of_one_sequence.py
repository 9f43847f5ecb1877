# problem: positions
# about: computes the angles of positions that all sequences share once

cpp = r"""
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void run(const float* x, const int64_t* at, float* y, int64_t batch, int64_t n, int64_t width, int64_t step) {
  #pragma omp parallel for
  for (int64_t r = 0; r < batch * n; ++r) {
    float angle = (float)at[r / n * step + r % n] * 0.01f, c = std::cos(angle), s = std::sin(angle);
    const float* p = x + r * width;
    for (int64_t i = 0; i < width; ++i) y[r * width + i] = p[i] * c + p[i ? i - 1 : width - 1] * s;
  }
}
"""


def forward(self, x, positions):
    x = x.contiguous()
    if positions.stride(1) != 1:
        positions = positions.contiguous()
    y = torch.empty_like(x)
    batch, n, width = x.shape
    lib.run(x, positions.data_ptr(), y, batch, n, width, positions.stride(0))
    return y
