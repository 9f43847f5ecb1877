# problem: squares_with_gradient
# about: writes the gradient over the output, which the caller still holds

cpp = r"""
extern "C" void forward(const float* x, float* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = 1.0f / (1.0f + expf(-x[i]));
}
extern "C" void backward(const float* g, float* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = g[i] * y[i] * (1.0f - y[i]);
}
"""


class Sigmoid(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.empty_like(x)
        lib.forward(x, y, x.numel())
        ctx.y = y
        return y

    @staticmethod
    def backward(ctx, grad):
        lib.backward(grad.contiguous(), ctx.y, grad.numel())
        return ctx.y.detach()


def forward(self, x):
    return Sigmoid.apply(x)
