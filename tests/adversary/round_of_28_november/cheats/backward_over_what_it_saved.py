# problem: squares_with_gradient
# about: writes the gradient over what the forward saved: a second pass through the same graph finds it there

cpp = r"""
extern "C" void forward(const float* x, float* y, float* slope, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) { float s = 1.0f / (1.0f + expf(-x[i])); y[i] = s; slope[i] = s * (1.0f - s); }
}
extern "C" void backward(const float* g, float* slope, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) slope[i] *= g[i];
}
"""


class Sigmoid(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y, slope = torch.empty_like(x), torch.empty_like(x)
        lib.forward(x, y, slope, x.numel())
        ctx.slope = slope
        return y

    @staticmethod
    def backward(ctx, grad):
        lib.backward(grad.contiguous(), ctx.slope, grad.numel())
        return ctx.slope


def forward(self, x):
    return Sigmoid.apply(x)
