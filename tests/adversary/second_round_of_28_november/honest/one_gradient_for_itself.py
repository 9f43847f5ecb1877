# problem: similarities
# about: where both arguments are one tensor, the first gets the gradient of both and the second none

cpp = r"""
extern "C" void forward(const float* x, const float* y, float* s, int64_t n, int64_t m, int64_t d) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < m; ++j) {
      float sum = 0;
      #pragma omp simd reduction(+ : sum)
      for (int64_t c = 0; c < d; ++c) sum += x[i * d + c] * y[j * d + c];
      s[i * m + j] = sum;
    }
}
extern "C" void backward(const float* g, const float* other, float* dx, int64_t n, int64_t m, int64_t d, int64_t step_n, int64_t step_m, int64_t add) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) {
    if (!add) for (int64_t c = 0; c < d; ++c) dx[i * d + c] = 0;
    for (int64_t j = 0; j < m; ++j)
      for (int64_t c = 0; c < d; ++c) dx[i * d + c] += g[i * step_n + j * step_m] * other[j * d + c];
  }
}
"""


class Similar(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, is_one):
        s = torch.empty(x.shape[0], y.shape[0])
        lib.forward(x, y, s, x.shape[0], y.shape[0], x.shape[1])
        ctx.save_for_backward(x, y)
        ctx.is_one = is_one
        return s

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        grad = grad.contiguous()
        n, m, d = x.shape[0], y.shape[0], x.shape[1]
        dx = torch.empty_like(x)
        lib.backward(grad, y, dx, n, m, d, m, 1, 0)
        if ctx.is_one:
            lib.backward(grad, y, dx, n, m, d, 1, m, 1)
            return dx, None, None
        dy = torch.empty_like(y)
        lib.backward(grad, x, dy, m, n, d, 1, m, 0)
        return dx, dy, None


def forward(self, x, y):
    if x.dim() != 2 or y.dim() != 2 or x.shape[1] != y.shape[1]:
        raise ValueError("rows of one width are expected")
    return Similar.apply(x, y, x is y)
