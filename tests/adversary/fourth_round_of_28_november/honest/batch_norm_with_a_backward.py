# problem: D_norm_over_the_batch
# about: mean and variance of each column by Welford's way over blocks of rows, in doubles; the backward makes the normalised values again

cpp = r"""
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void forward(const float* x, const float* w, const float* b, float* y, double* told, int64_t rows, int64_t d) {
  #pragma omp parallel for
  for (int64_t first = 0; first < d; first += 16) {
    const int64_t n = std::min<int64_t>(16, d - first);
    double mean[16] = {}, m2[16] = {};
    for (int64_t r = 0; r < rows; ++r) for (int64_t j = 0; j < n; ++j) {
      const double v = x[r * d + first + j], off = v - mean[j];
      mean[j] += off / (double)(r + 1); m2[j] += off * (v - mean[j]);
    }
    for (int64_t j = 0; j < n; ++j) { told[2 * (first + j)] = mean[j]; told[2 * (first + j) + 1] = 1.0 / std::sqrt(m2[j] / (double)rows + 1e-5); }
    for (int64_t r = 0; r < rows; ++r) for (int64_t j = 0; j < n; ++j) {
      const int64_t at = r * d + first + j;
      y[at] = (float)((x[at] - mean[j]) * told[2 * (first + j) + 1] * w[first + j] + b[first + j]);
    }
  }
}
extern "C" void backward(const float* x, const float* w, const double* told, const float* g, float* dx, float* dw, float* db, int64_t rows, int64_t d) {
  #pragma omp parallel for
  for (int64_t first = 0; first < d; first += 16) {
    const int64_t n = std::min<int64_t>(16, d - first);
    double sum[16] = {}, dot[16] = {};
    for (int64_t r = 0; r < rows; ++r) for (int64_t j = 0; j < n; ++j) {
      const int64_t at = r * d + first + j; const double* t = told + 2 * (first + j);
      sum[j] += g[at]; dot[j] += g[at] * (x[at] - t[0]) * t[1];
    }
    for (int64_t j = 0; j < n; ++j) { dw[first + j] = (float)dot[j]; db[first + j] = (float)sum[j]; }
    for (int64_t r = 0; r < rows; ++r) for (int64_t j = 0; j < n; ++j) {
      const int64_t at = r * d + first + j; const double* t = told + 2 * (first + j);
      const double h = (x[at] - t[0]) * t[1];
      dx[at] = (float)(t[1] * w[first + j] * (g[at] - sum[j] / (double)rows - h * dot[j] / (double)rows));
    }
  }
}
"""


class Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        if x.dim() != 2 or x.shape[1:] != weight.shape or x.shape[0] < 2:
            raise ValueError("at least two rows of the layer's width")
        x = x.contiguous()
        y, told = torch.empty(x.shape), torch.empty(x.shape[1], 2, dtype=torch.float64)
        lib.forward(x, weight, bias, y, told, *x.shape)
        ctx.save_for_backward(x, weight, told)
        return y

    @staticmethod
    def backward(ctx, grad):
        x, weight, told = ctx.saved_tensors
        dx, dw, db = torch.empty(x.shape), torch.empty(weight.shape), torch.empty(weight.shape)
        lib.backward(x, weight, told, grad.contiguous(), dx, dw, db, *x.shape)
        return dx, dw, db


def __init__(self, d):
    self.weight = torch.nn.Parameter(torch.rand(d) + 0.5)
    self.bias = torch.nn.Parameter(torch.randn(d) * 0.1)


def forward(self, x):
    return Norm.apply(x, self.weight, self.bias)
