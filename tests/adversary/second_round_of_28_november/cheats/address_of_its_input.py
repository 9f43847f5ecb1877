# problem: leaky
# about: keeps the address of its input for the backward, not the input: an activation that nobody else holds is gone by then

cpp = r"""
extern "C" void forward(const float* x, float* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] > 0.0f ? x[i] : 0.1f * x[i];
}
extern "C" void backward(int64_t address, const float* g, float* dx, int64_t n) {
  const float* x = (const float*)address;
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) dx[i] = x[i] > 0.0f ? g[i] : 0.1f * g[i];
}
"""


class Leaky(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.empty_like(x)
        lib.forward(x, y, x.numel())
        ctx.address = x.data_ptr()
        return y

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous()
        dx = torch.empty_like(grad)
        lib.backward(ctx.address, grad, dx, dx.numel())
        return dx


def forward(self, x):
    return Leaky.apply(x)
