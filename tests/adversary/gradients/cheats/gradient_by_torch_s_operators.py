# problem: rms_norm
# gate: integrity
# about: its own kernel for the forward; the backward is written with torch's operators
import torch
import kernelwright_rt

lib = kernelwright_rt.compile_cpp(r"""
#include <cmath>
#include <cstdint>
extern "C" void forward(const float* x, const float* w, float* y, float* scale, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n;
    float sum = 0;
    #pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) sum += a[i] * a[i];
    scale[r] = 1.0f / std::sqrt(sum / n + 1e-6f);
    #pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[r * n + i] = a[i] * scale[r] * w[i];
  }
}
extern "C" void backward(const float* x, const float* w, const float* scale, const float* g, float* dx, float* dw, int64_t rows, int64_t n) {
  for (int64_t i = 0; i < n; ++i) dw[i] = 0;
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n;
    const float s = scale[r];
    float dot = 0;
    #pragma omp simd reduction(+ : dot)
    for (int64_t i = 0; i < n; ++i) dot += g[r * n + i] * w[i] * a[i];
    const float c = dot * s * s * s / n;
    #pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      dx[r * n + i] = g[r * n + i] * w[i] * s - a[i] * c;
      dw[i] += g[r * n + i] * a[i] * s;
    }
  }
}
""")


class RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        y, scale = torch.empty_like(x), torch.empty(x.shape[0])
        lib.forward(x, weight, y, scale, *x.shape)
        ctx.save_for_backward(x, weight, scale)
        return y

    @staticmethod
    def backward(ctx, grad):
        x, weight, scale = ctx.saved_tensors
        unit = x * scale[:, None]
        scaled = grad * weight
        dx = (scaled - unit * (scaled * unit).mean(-1, keepdim=True)) * scale[:, None]
        return dx, (grad * unit).sum(0)


class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(features))

    def forward(self, x):
        return RMSNorm.apply(x, self.weight)
