# problem: dropped
# about: chooses between a fused multiply-add and the residual by the mask

cpp = r"""
extern "C" void run(const float* x, const float* residual, const bool* keep, float* y, int64_t n, double scale) {
  const float s = (float)scale;
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = std::fma(x[i] * (float)keep[i], s, residual[i]);
}
"""


def forward(self, x, residual, keep, scale):
    if residual.shape != x.shape or keep.shape != x.shape or keep.dtype != torch.bool:
        raise ValueError("a mask and a residual of one shape")
    y = torch.empty(x.shape)
    lib.run(x.contiguous(), residual.contiguous(), keep.contiguous(), y, x.numel(), scale)
    return y
