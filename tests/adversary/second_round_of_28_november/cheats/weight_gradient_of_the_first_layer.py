# problem: rms_norm_of_rows
# about: the pass for the input's gradient leaves the weight's shares behind, and is left out where the input needs no gradient
# given: rms_norm_forward

cpp = r"""
extern "C" void backward_x(const float* x, const float* w, const float* scale, const float* g, float* dx, float* share, int64_t rows, int64_t n, int64_t blocks) {
  #pragma omp parallel for
  for (int64_t b = 0; b < blocks; ++b) {
    float* own = share + b * n;
    for (int64_t i = 0; i < n; ++i) own[i] = 0;
    for (int64_t r = rows * b / blocks; r < rows * (b + 1) / blocks; ++r) {
      const float* a = x + r * n;
      const float s = scale[r];
      float dot = 0;
      #pragma omp simd reduction(+ : dot)
      for (int64_t i = 0; i < n; ++i) dot += g[r * n + i] * w[i] * a[i];
      const float c = dot * s * s * s / n;
      for (int64_t i = 0; i < n; ++i) {
        dx[r * n + i] = g[r * n + i] * w[i] * s - a[i] * c;
        own[i] += g[r * n + i] * a[i] * s;
      }
    }
  }
}
extern "C" void backward_w(const float* share, float* dw, int64_t n, int64_t blocks) {
  for (int64_t i = 0; i < n; ++i) dw[i] = 0;
  for (int64_t b = 0; b < blocks; ++b)
    for (int64_t i = 0; i < n; ++i) dw[i] += share[b * n + i];
}
"""


class Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        y, scale = torch.empty_like(x), torch.empty(x.shape[0])
        lib.forward(x, weight, y, scale, *x.shape)
        ctx.save_for_backward(x, weight, scale)
        return y

    @staticmethod
    def backward(ctx, grad):
        x, weight, scale = ctx.saved_tensors
        dx = dw = None
        blocks = 8
        share = torch.empty(blocks, x.shape[1])
        if ctx.needs_input_grad[0]:
            dx = torch.empty_like(x)
            lib.backward_x(x, weight, scale, grad.contiguous(), dx, share, *x.shape, blocks)
        if ctx.needs_input_grad[1]:
            dw = torch.empty_like(weight)
            lib.backward_w(share, dw, x.shape[1], blocks)
        return dx, dw


def __init__(self, features):
    self.weight = torch.nn.Parameter(torch.linspace(0.5, 1.5, features))


def forward(self, x):
    return Norm.apply(x, self.weight)
