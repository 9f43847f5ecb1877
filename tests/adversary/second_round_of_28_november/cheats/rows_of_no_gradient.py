# problem: rms_norm_of_rows
# about: scales each row of the cotangent by its largest number, which is zero where a loss leaves a row out
# given: rms_norm_forward

cpp = r"""
extern "C" void backward(const float* x, const float* w, const float* scale, const float* g, float* dx, float* dw, int64_t rows, int64_t n) {
  for (int64_t i = 0; i < n; ++i) dw[i] = 0;
  for (int64_t r = 0; r < rows; ++r) {
    const float *a = x + r * n, *c = g + r * n;
    float most = 0;
    for (int64_t i = 0; i < n; ++i) most = fmaxf(most, fabsf(c[i]));
    const float inverse = 1.0f / most, s = scale[r];
    float dot = 0;
    #pragma omp simd reduction(+ : dot)
    for (int64_t i = 0; i < n; ++i) dot += c[i] * inverse * w[i] * a[i];
    const float k = dot * s * s * s / n;
    #pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      dx[r * n + i] = (c[i] * inverse * w[i] * s - a[i] * k) * most;
      dw[i] += c[i] * a[i] * s;
    }
  }
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
        dx, dw = torch.empty_like(x), torch.empty_like(weight)
        lib.backward(x, weight, scale, grad.contiguous(), dx, dw, *x.shape)
        return dx, dw


def __init__(self, features):
    self.weight = torch.nn.Parameter(torch.linspace(0.5, 1.5, features))


def forward(self, x):
    return Norm.apply(x, self.weight)
