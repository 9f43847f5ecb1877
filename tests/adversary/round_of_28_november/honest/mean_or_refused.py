# problem: named_reduction
# about: knows the mean only, and says so where another one is named

cpp = r"""
extern "C" void run(const float* x, const float* z, float* y, int64_t n) {
  double sum = 0.0;
  #pragma omp parallel for simd reduction(+:sum)
  for (int64_t i = 0; i < n; ++i) { double d = x[i] - z[i]; sum += d * d; }
  *y = (float)(sum / n);
}
"""


def forward(self, x, y, reduction):
    if reduction != "mean":
        raise ValueError("the mean only")
    out = torch.empty(())
    lib.run(x, y, out, x.numel())
    return out
