# problem: rows_and_lengths
# about: is told None where an output has no gradient, and takes it for zeros

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
        y, length = ctx.saved_tensors
        grad = torch.zeros_like(y) if grad is None else grad.contiguous()
        grad_length = torch.zeros_like(length) if grad_length is None else grad_length.contiguous()
        dx = torch.empty_like(y)
        lib.backward(y, length, grad, grad_length, dx, *y.shape)
        return dx


def forward(self, x):
    if x.dim() != 2:
        raise ValueError("rows are expected")
    return Unit.apply(x)
