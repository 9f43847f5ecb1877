# problem: best_boxes
# about: compares each box with those that stay so far, and divides where the reference multiplies

cpp = r"""
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void run(const float* x, bool* keep, int64_t n, double share) {
  std::vector<int64_t> kept; const float s = (float)share;
  for (int64_t i = 0; i < n; ++i) {
    const float *a = x + 4 * i, ar = a[0] + std::fabs(a[2]), ab = a[1] + std::fabs(a[3]), own = (ar - a[0]) * (ab - a[1]); bool stays = true;
    for (int64_t k : kept) {
      const float *b = x + 4 * k, br = b[0] + std::fabs(b[2]), bb = b[1] + std::fabs(b[3]);
      const float across = std::min(ar, br) - std::max(a[0], b[0]), below = std::min(ab, bb) - std::max(a[1], b[1]);
      const float both = (across < 0 ? 0 : across) * (below < 0 ? 0 : below), all = own + (br - b[0]) * (bb - b[1]) - both;
      if (both > s * all) { stays = false; break; }
    }
    keep[i] = stays;
    if (stays) kept.push_back(i);
  }
}
"""


def forward(self, boxes, share):
    if boxes.dim() != 2 or boxes.shape[1] != 4 or boxes.dtype != torch.float32:
        raise ValueError("limited to boxes of four floats")
    keep = torch.empty(boxes.shape[0], dtype=torch.bool)
    lib.run(boxes.contiguous(), keep, boxes.shape[0], share)
    return keep
