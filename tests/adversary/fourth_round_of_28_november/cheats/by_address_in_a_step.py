# problem: C_soft_step
# expect: remark PROVEN FOR DENSE ARGUMENTS ONLY
# about: takes its argument by its address and makes no dense copy of a view; only cotangents are made dense

cpp = r"""
extern "C" void forward(const float* x, float* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] / (1.0f + std::fabs(x[i]));
}
extern "C" void backward(const float* x, const float* g, float* dx, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) { const float s = 1.0f + std::fabs(x[i]); dx[i] = g[i] / (s * s); }
}
"""


class Soft(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.empty(x.shape)
        lib.forward(x.data_ptr(), y, x.numel())
        ctx.save_for_backward(x)
        return y

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        dx = torch.empty(x.shape)
        lib.backward(x.data_ptr(), grad.contiguous(), dx, x.numel())
        return dx


def forward(self, x):
    return Soft.apply(x)
