# problem: C_largest_step
# about: no place is kept: the gradient goes to whatever equals the maximum, to all of them where several do

cpp = r"""
extern "C" void forward(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n;
    float most = a[0]; bool known = true;
    for (int64_t i = 0; i < n; ++i) { most = a[i] > most ? a[i] : most; known &= a[i] == a[i]; }
    y[r] = known ? most : NAN;
  }
}
extern "C" void backward(const float* x, const float* y, const float* g, float* dx, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < n; ++i) dx[r * n + i] = x[r * n + i] == y[r] ? g[r] : 0.0f;
}
"""


class Largest(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.contiguous()
        if not x.shape[-1]:
            raise IndexError("nothing in a row")
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
    return Largest.apply(x)
