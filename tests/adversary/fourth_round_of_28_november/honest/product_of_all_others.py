# problem: C_product_step
# about: the gradient is the product of all others, which has no sign at zero: nothing is divided

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
    for (int64_t i = 0; i < n; ++i) {
      float others = g[r];
      for (int64_t j = 0; j < n; ++j) others *= j == i ? 1.0f : std::fabs(x[r * n + j]);
      dx[r * n + i] = (x[r * n + i] > 0 ? others : x[r * n + i] < 0 ? -others : x[r * n + i] * others);
    }
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
