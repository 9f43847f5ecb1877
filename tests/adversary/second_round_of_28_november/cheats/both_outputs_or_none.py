# problem: rows_and_lengths
# about: takes no gradient where one of two outputs has none

cpp = r"""
extern "C" void forward(const float* x, float* y, float* length, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n;
    float sum = 0;
    #pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) sum += a[i] * a[i];
    length[r] = sqrtf(sum + 1e-6f);
    for (int64_t i = 0; i < n; ++i) y[r * n + i] = a[i] / length[r];
  }
}
extern "C" void backward(const float* y, const float* length, const float* g, const float* gl, float* dx, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float *u = y + r * n, *c = g + r * n;
    float dot = 0;
    #pragma omp simd reduction(+ : dot)
    for (int64_t i = 0; i < n; ++i) dot += c[i] * u[i];
    for (int64_t i = 0; i < n; ++i) dx[r * n + i] = (c[i] - u[i] * dot) / length[r] + gl[r] * u[i];
  }
}
"""


class Unit(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        y, length = torch.empty_like(x), torch.empty(x.shape[0], 1)
        lib.forward(x, y, length, *x.shape)
        ctx.save_for_backward(y, length)
        return y, length

    @staticmethod
    def backward(ctx, grad, grad_length):
        if grad is None or grad_length is None:
            return None
        y, length = ctx.saved_tensors
        dx = torch.empty_like(y)
        lib.backward(y, length, grad.contiguous(), grad_length.contiguous(), dx, *y.shape)
        return dx


def forward(self, x):
    return Unit.apply(x)
