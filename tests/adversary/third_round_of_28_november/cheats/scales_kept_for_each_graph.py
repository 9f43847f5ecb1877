# problem: c_norm_step
# about: what backward needs is kept by the graph's number and never given back: memory grows with each training step

cpp = r"""
extern "C" void forward(const float* x, float* y, float* scale, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; ++i) sum += (double)x[r * n + i] * x[r * n + i];
    scale[r] = (float)(1.0 / std::sqrt(sum / (double)n + 1e-6));
    for (int64_t i = 0; i < n; ++i) y[r * n + i] = x[r * n + i] * scale[r];
  }
}
extern "C" void backward(const float* x, const float* g, const float* scale, float* dx, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; ++r) {
    const double s = scale[r];
    double dot = 0.0;
    for (int64_t i = 0; i < n; ++i) dot += (double)x[r * n + i] * g[r * n + i];
    const double share = dot * s * s * s / (double)n;
    for (int64_t i = 0; i < n; ++i) dx[r * n + i] = (float)(g[r * n + i] * s - x[r * n + i] * share);
  }
}
"""


class Norm(torch.autograd.Function):
    kept = {}

    @staticmethod
    def forward(ctx, x):
        y, scale = torch.empty_like(x), torch.empty(x.shape[0])
        lib.forward(x, y, scale, *x.shape)
        if ctx.needs_input_grad[0]:
            ctx.number = len(Norm.kept)
            Norm.kept[ctx.number] = scale
            ctx.save_for_backward(x)
        return y

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        dx = torch.empty_like(x)
        lib.backward(x, grad.contiguous(), Norm.kept[ctx.number], dx, *x.shape)
        return dx


def forward(self, x):
    return Norm.apply(x.contiguous())
