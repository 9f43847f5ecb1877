# problem: running_extremes
# about: `omp simd` with an inclusive scan, and a running maximum that keeps NaN; int32 sums in int64

cpp = r"""
extern "C" void run(const float* x, const int32_t* s, float* y, int64_t* z, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    float top = x[r * n];
    for (int64_t i = r * n; i < (r + 1) * n; ++i) { top = x[i] >= top || std::isnan(x[i]) ? x[i] : top; y[i] = top; }
    int64_t sum = 0;
    #pragma omp simd reduction(inscan, + : sum)
    for (int64_t i = 0; i < n; ++i) {
      sum += s[r * n + i];
      #pragma omp scan inclusive(sum)
      z[r * n + i] = sum;
    }
  }
}
"""


def forward(self, x, steps):
    x, steps = x.contiguous(), steps.contiguous()
    y, z = torch.empty_like(x), torch.empty(steps.shape, dtype=torch.int64)
    lib.run(x, steps, y, z, *x.shape)
    return y, z
