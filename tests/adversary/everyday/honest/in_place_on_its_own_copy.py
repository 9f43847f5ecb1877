# problem: soft_threshold
# about: copies its argument, and changes the copy in place

cpp = r"""
extern "C" void shrink(float* y, int64_t n, float margin) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) {
    float left = std::fabs(y[i]) - margin;
    left = left < 0.0f ? 0.0f : left;
    y[i] = std::isnan(y[i]) ? y[i] : y[i] > 0.0f ? left : y[i] < 0.0f ? -left : 0.0f * left;
  }
}
"""


def forward(self, x, margin):
    y = x.contiguous().clone()
    lib.shrink(y, y.numel(), margin)
    return y
