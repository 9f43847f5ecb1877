# problem: soft_rows
# about: scales each row of the cotangent by its largest number, which is zero where a loss leaves a row out

cpp = r"""
extern "C" void forward(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n;
    float most = a[0], sum = 0;
    for (int64_t i = 1; i < n; ++i) most = a[i] > most || a[i] != a[i] ? a[i] : most;
    for (int64_t i = 0; i < n; ++i) sum += (y[r * n + i] = expf(a[i] - most));
    for (int64_t i = 0; i < n; ++i) y[r * n + i] /= sum;
  }
}
extern "C" void backward(const float* y, const float* g, float* dx, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float *p = y + r * n, *c = g + r * n;
    float most = 0, dot = 0;
    for (int64_t i = 0; i < n; ++i) most = fmaxf(most, fabsf(c[i]));
    const float inverse = 1.0f / most;
    for (int64_t i = 0; i < n; ++i) dot += c[i] * inverse * p[i];
    for (int64_t i = 0; i < n; ++i) dx[r * n + i] = p[i] * (c[i] * inverse - dot) * most;
  }
}
"""


class Soft(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.empty_like(x)
        lib.forward(x, y, *x.shape)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        y, = ctx.saved_tensors
        dx = torch.empty_like(y)
        lib.backward(y, grad.contiguous(), dx, *y.shape)
        return dx


def forward(self, x):
    return Soft.apply(x)
