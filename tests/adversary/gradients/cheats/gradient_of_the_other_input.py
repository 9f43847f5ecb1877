# problem: product
# gate: correctness
# about: the gradient of one factor is a copy of the other's

cpp = r"""
#include <cstdint>
extern "C" void multiply(const float* x, const float* y, float* out, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] * y[i];
}
"""


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        out = torch.empty_like(x)
        lib.multiply(x, y, out, x.numel())
        ctx.save_for_backward(y)
        return out

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        dx = torch.empty_like(y)
        lib.multiply(grad.contiguous(), y, dx, y.numel())
        return dx, dx.clone()


def forward(self, x, y):
    return Product.apply(x, y)
