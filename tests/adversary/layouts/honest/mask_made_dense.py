# problem: shared_mask
# about: copies an expanded mask before it reads it

cpp = r"""
#include <algorithm>
#include <cmath>
#include <cstdint>
extern "C" void run(const float* x, const uint8_t* mask, float* y, int64_t rows, int64_t columns) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* p = x + r * columns;
    const uint8_t* m = mask + r * columns;
    float* out = y + r * columns;
    float top = -INFINITY, sum = 0;
    for (int64_t c = 0; c < columns; ++c) if (!m[c]) top = std::max(top, p[c]);
    for (int64_t c = 0; c < columns; ++c) { out[c] = m[c] ? 0.0f : std::exp(p[c] - top); sum += out[c]; }
    for (int64_t c = 0; c < columns; ++c) out[c] /= sum;
  }
}
"""


def forward(self, scores, mask):
    scores, mask = scores.contiguous(), mask.contiguous()
    y = torch.empty_like(scores)
    lib.run(scores, mask, y, scores.numel() // scores.shape[-1], scores.shape[-1])
    return y
