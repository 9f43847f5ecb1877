# problem: C_pooled_step
# about: of several largest values of a window, the last one gets the gradient; PyTorch takes the first

cpp = r"""
extern "C" void forward(const float* x, float* y, int64_t rows, int64_t n) {
  const int64_t m = n / 4;
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n;
    for (int64_t i = 0; i < m; ++i) {
      const float p = a[4 * i], q = a[4 * i + 1], s = a[4 * i + 2], t = a[4 * i + 3];
      const float one = p > q ? p : q, two = s > t ? s : t, most = one > two ? one : two;
      y[r * m + i] = p == p && q == q && s == s && t == t ? most : NAN;
    }
  }
}
extern "C" void backward(const float* x, const float* y, const float* g, float* dx, int64_t rows, int64_t n) {
  const int64_t m = n / 4;
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < m; ++i) {
      bool given = false;
      for (int64_t j = 4 * i + 3; j >= 4 * i; --j) {
        const bool here = !given && x[r * n + j] == y[r * m + i];
        dx[r * n + j] = here ? g[r * m + i] : 0.0f;
        given = given || here;
      }
    }
    for (int64_t i = 4 * m; i < n; ++i) dx[r * n + i] = 0.0f;
  }
}
"""


class Pooled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        if x.dim() != 3 or x.shape[2] < 4 or not x.shape[1]:
            raise RuntimeError("three dimensions, windows of four")
        x = x.contiguous()
        y = torch.empty(x.shape[0], x.shape[1], x.shape[2] // 4)
        lib.forward(x, y, x.shape[0] * x.shape[1], x.shape[2])
        ctx.save_for_backward(x, y.clone())
        return y

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        dx = torch.empty_like(x)
        lib.backward(x, y, grad.contiguous(), dx, x.shape[0] * x.shape[1], x.shape[2])
        return dx


def forward(self, x):
    return Pooled.apply(x)
