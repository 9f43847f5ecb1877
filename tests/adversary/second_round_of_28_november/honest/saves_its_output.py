# problem: soft_rows
# about: its backward reads the output, which it saves by save_for_backward, so that PyTorch refuses it where that has changed

cpp = r"""
extern "C" void forward(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n;
    float* p = y + r * n;
    float most = n ? a[0] : 0;
    double sum = 0;
    for (int64_t i = 1; i < n; ++i) most = a[i] > most || a[i] != a[i] ? a[i] : most;
    for (int64_t i = 0; i < n; ++i) sum += (p[i] = expf(a[i] - most));
    for (int64_t i = 0; i < n; ++i) p[i] = (float)(p[i] / sum);
  }
}
extern "C" void backward(const float* y, const float* g, float* dx, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float *p = y + r * n, *c = g + r * n;
    double dot = 0;
    for (int64_t i = 0; i < n; ++i) dot += (double)c[i] * p[i];
    for (int64_t i = 0; i < n; ++i) dx[r * n + i] = (float)(p[i] * (c[i] - dot));
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
    if x.dim() != 2:
        raise ValueError("rows are expected")
    return Soft.apply(x)
