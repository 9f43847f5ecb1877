# problem: D_expert_of_each_token
# about: counts tokens by experts first, so that each expert's weights are read once in each pass; experts go to threads

cpp = r"""
#include <cstdint>
#include <cstring>
#include <vector>
// order[starts[e]] … are the tokens of expert e
extern "C" void plan(const int64_t* ids, int64_t n, int64_t experts, int64_t* order, int64_t* starts, int32_t* bad) {
  for (int64_t e = 0; e <= experts; ++e) starts[e] = 0;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t e = ids[i] < 0 ? ids[i] + experts : ids[i];
    if (e < 0 || e >= experts) { *bad = 1; return; }
    ++starts[e + 1];
  }
  for (int64_t e = 0; e < experts; ++e) starts[e + 1] += starts[e];
  std::vector<int64_t> next(starts, starts + experts);
  for (int64_t i = 0; i < n; ++i) order[next[ids[i] < 0 ? ids[i] + experts : ids[i]]++] = i;
}
extern "C" void forward(const float* x, const float* w, const float* bias, const int64_t* order, const int64_t* starts, float* y,
                        int64_t experts, int64_t d, int64_t h) {
  #pragma omp parallel for schedule(dynamic)
  for (int64_t e = 0; e < experts; ++e)
    for (int64_t p = starts[e]; p < starts[e + 1]; ++p) {
      const float* from = x + order[p] * d; float* to = y + order[p] * h;
      for (int64_t j = 0; j < h; ++j) to[j] = 0;
      for (int64_t i = 0; i < d; ++i) {
        const float v = from[i]; const float* row = w + (e * d + i) * h;
        #pragma omp simd
        for (int64_t j = 0; j < h; ++j) to[j] += v * row[j];
      }
      for (int64_t j = 0; j < h; ++j) to[j] += bias[e * h + j];
    }
}
extern "C" void backward(const float* x, const float* w, const float* g, const int64_t* order, const int64_t* starts, float* dx,
                         float* dw, float* db, int64_t experts, int64_t d, int64_t h) {
  #pragma omp parallel for schedule(dynamic)
  for (int64_t e = 0; e < experts; ++e) {
    std::memset(dw + e * d * h, 0, d * h * sizeof(float));
    std::vector<double> sums(h, 0.0);
    for (int64_t p = starts[e]; p < starts[e + 1]; ++p) {
      const float *from = x + order[p] * d, *own = g + order[p] * h; float* to = dx + order[p] * d;
      for (int64_t j = 0; j < h; ++j) sums[j] += own[j];
      for (int64_t i = 0; i < d; ++i) {
        const float v = from[i]; const float* row = w + (e * d + i) * h; float* drow = dw + (e * d + i) * h;
        float sum = 0;
        #pragma omp simd reduction(+ : sum)
        for (int64_t j = 0; j < h; ++j) { sum += own[j] * row[j]; drow[j] += v * own[j]; }
        to[i] = sum;
      }
    }
    for (int64_t j = 0; j < h; ++j) db[e * h + j] = (float)sums[j];
  }
}
"""


class Experts(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, ids, weight, bias):
        experts, d, h = weight.shape
        if x.dim() != 2 or x.shape[1] != d or ids.shape != x.shape[:1]:
            raise ValueError("rows of the layer's width, and an expert for each")
        x = x.contiguous()
        order, starts = torch.empty(x.shape[0], dtype=torch.int64), torch.empty(experts + 1, dtype=torch.int64)
        bad = torch.zeros(1, dtype=torch.int32)
        lib.plan(ids.contiguous(), x.shape[0], experts, order, starts, bad)
        if bad.item():
            raise IndexError("no such expert")
        y = torch.empty(x.shape[0], h)
        lib.forward(x, weight, bias, order, starts, y, experts, d, h)
        ctx.save_for_backward(x, weight, order, starts)
        return y

    @staticmethod
    def backward(ctx, grad):
        x, weight, order, starts = ctx.saved_tensors
        experts, d, h = weight.shape
        dx, dw, db = torch.empty(x.shape), torch.empty(weight.shape), torch.empty(experts, h)
        lib.backward(x, weight, grad.contiguous(), order, starts, dx, dw, db, experts, d, h)
        return dx, None, dw, db


def __init__(self, experts, d, h):
    self.weight = torch.nn.Parameter(torch.randn(experts, d, h) * d**-0.5)
    self.bias = torch.nn.Parameter(torch.randn(experts, h) * 0.1)


def forward(self, x, experts):
    return Experts.apply(x, experts, self.weight, self.bias)
