# problem: soft_rows
# about: keeps its input by itself instead of by save_for_backward: where it was changed in place, the gradient is another's

cpp = r"""
static void row(const float* a, float* p, int64_t n) {
  float most = a[0];
  double sum = 0;
  for (int64_t i = 1; i < n; ++i) most = a[i] > most || a[i] != a[i] ? a[i] : most;
  for (int64_t i = 0; i < n; ++i) sum += (p[i] = expf(a[i] - most));
  for (int64_t i = 0; i < n; ++i) p[i] /= sum;
}
extern "C" void forward(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) row(x + r * n, y + r * n, n);
}
extern "C" void backward(const float* x, const float* g, float* dx, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    float* d = dx + r * n;
    const float* c = g + r * n;
    row(x + r * n, d, n);
    double dot = 0;
    for (int64_t i = 0; i < n; ++i) dot += c[i] * d[i];
    for (int64_t i = 0; i < n; ++i) d[i] *= c[i] - dot;
  }
}
"""


class Soft(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.empty_like(x)
        lib.forward(x, y, *x.shape)
        ctx.x = x.detach()
        return y

    @staticmethod
    def backward(ctx, grad):
        dx = torch.empty_like(ctx.x)
        lib.backward(ctx.x, grad.contiguous(), dx, *dx.shape)
        return dx


def forward(self, x):
    if x.dim() != 2:
        raise ValueError("rows are expected")
    return Soft.apply(x)
