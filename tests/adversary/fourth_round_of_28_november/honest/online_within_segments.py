# problem: D_softmax_of_segments
# about: maximum and sum of a segment in one pass for all heads at once; the backward needs the shares only

cpp = r"""
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void forward(const float* x, const int64_t* offsets, float* y, int64_t segments, int64_t n, int64_t heads, int32_t* bad) {
  bool wrong = offsets[0] != 0 || offsets[segments] != n;
  for (int64_t s = 0; s < segments; ++s) wrong |= offsets[s + 1] < offsets[s];
  if (wrong) { *bad = 1; return; }
  #pragma omp parallel
  {
    std::vector<float> top(heads), sum(heads);
    #pragma omp for schedule(dynamic, 8)
    for (int64_t s = 0; s < segments; ++s) {
      const int64_t first = offsets[s], last = offsets[s + 1];
      for (int64_t h = 0; h < heads; ++h) { top[h] = -INFINITY; sum[h] = 0; }
      for (int64_t i = first; i < last; ++i) for (int64_t h = 0; h < heads; ++h) {
        const float v = x[i * heads + h];
        if (v <= top[h]) sum[h] += v == -INFINITY ? 0.0f : std::exp(v - top[h]);
        else { sum[h] = (top[h] == -INFINITY ? 0.0f : sum[h] * std::exp(top[h] - v)) + (v - v + 1.0f); top[h] = v; }
      }
      for (int64_t i = first; i < last; ++i) for (int64_t h = 0; h < heads; ++h)
        y[i * heads + h] = std::exp(x[i * heads + h] - top[h]) / sum[h];
    }
  }
}
extern "C" void backward(const float* y, const float* g, const int64_t* offsets, float* dx, int64_t segments, int64_t heads) {
  #pragma omp parallel
  {
    std::vector<float> dot(heads);
    #pragma omp for schedule(dynamic, 8)
    for (int64_t s = 0; s < segments; ++s) {
      for (int64_t h = 0; h < heads; ++h) dot[h] = 0;
      for (int64_t i = offsets[s]; i < offsets[s + 1]; ++i) for (int64_t h = 0; h < heads; ++h) dot[h] += y[i * heads + h] * g[i * heads + h];
      for (int64_t i = offsets[s]; i < offsets[s + 1]; ++i) for (int64_t h = 0; h < heads; ++h)
        dx[i * heads + h] = y[i * heads + h] * (g[i * heads + h] - dot[h]);
    }
  }
}
"""


class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores, offsets):
        if scores.dim() != 2 or offsets.dim() != 1 or not offsets.shape[0]:
            raise ValueError("rows of heads, and offsets")
        scores, offsets = scores.contiguous(), offsets.contiguous()
        y, bad = torch.empty(scores.shape), torch.zeros(1, dtype=torch.int32)
        lib.forward(scores, offsets, y, offsets.shape[0] - 1, *scores.shape, bad)
        if bad.item():
            raise ValueError("offsets have to go from 0 to the number of rows, in order")
        ctx.save_for_backward(y, offsets)
        return y

    @staticmethod
    def backward(ctx, grad):
        y, offsets = ctx.saved_tensors
        dx = torch.empty(y.shape)
        lib.backward(y, grad.contiguous(), offsets, dx, offsets.shape[0] - 1, y.shape[1])
        return dx, None


def forward(self, scores, offsets):
    return Softmax.apply(scores, offsets)
