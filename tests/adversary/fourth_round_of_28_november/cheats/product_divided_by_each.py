# problem: C_product_step
# about: the gradient is the product over each factor, not the product of all others

cpp = r"""
extern "C" void forward(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    float one = 1;
    for (int64_t i = 0; i < n; ++i) one *= std::fabs(x[r * n + i]);
    y[r] = one;
  }
}
extern "C" void backward(const float* x, const float* y, const float* g, float* dx, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float by = g[r] * y[r];
    for (int64_t i = 0; i < n; ++i) dx[r * n + i] = by / x[r * n + i];
  }
}
"""


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.contiguous()
        y = torch.empty(x.shape[:-1])
        lib.forward(x, y, y.numel(), x.shape[-1])
        ctx.save_for_backward(x, y.clone())
        return y

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        dx = torch.empty_like(x)
        lib.backward(x, y, grad.contiguous(), dx, y.numel(), x.shape[-1])
        return dx


def forward(self, x):
    return Product.apply(x)
