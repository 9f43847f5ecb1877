# problem: D_unit_rows_step
# about: keeps one number a row, and multiplies by it where the reference divides

cpp = r"""
#include <algorithm>
#include <cmath>
#include <cstdint>
extern "C" void forward(const float* x, const float* scale, float* y, float* told, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n; double sum = 0;
    #pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) sum += (double)a[i] * a[i];
    const float by = (float)(1.0 / std::max(std::sqrt(sum), 1e-12));
    told[r] = by;
    for (int64_t i = 0; i < n; ++i) y[r * n + i] = a[i] * by * scale[0];
  }
}
extern "C" void backward(const float* x, const float* scale, const float* told, const float* g, float* dx, float* ds, int64_t rows, int64_t n) {
  double total = 0;
  #pragma omp parallel for reduction(+ : total)
  for (int64_t r = 0; r < rows; ++r) {
    const float *a = x + r * n, *own = g + r * n, by = told[r]; float dot = 0;
    #pragma omp simd reduction(+ : dot)
    for (int64_t i = 0; i < n; ++i) dot += own[i] * (a[i] * by);
    total += dot;
    const float inner = by < 1e12f ? dot : 0.0f;  // below the floor, the length is no longer a function of the row
    for (int64_t i = 0; i < n; ++i) dx[r * n + i] = scale[0] * by * (own[i] - inner * (a[i] * by));
  }
  ds[0] = (float)total;
}
"""


class Unit(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        if x.dim() < 1:
            raise ValueError("rows")
        x = x.contiguous()
        n = x.shape[-1]
        y, told = torch.empty(x.shape), torch.empty(x.shape[:-1])
        lib.forward(x, scale, y, told, told.numel(), n)
        ctx.save_for_backward(x, scale, told)
        return y

    @staticmethod
    def backward(ctx, grad):
        x, scale, told = ctx.saved_tensors
        dx, ds = torch.empty(x.shape), torch.empty(())
        lib.backward(x, scale, told, grad.contiguous(), dx, ds, told.numel(), x.shape[-1])
        return dx, ds


def __init__(self, scale):
    self.scale = torch.nn.Parameter(torch.tensor(scale))


def forward(self, x):
    return Unit.apply(x, self.scale)
