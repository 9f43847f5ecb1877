# problem: D_first_crossing
# about: stops at the first value above the level, which comes after some forty of 8192; sixteen values at once

cpp = r"""
#include <cstdint>
extern "C" void run(const float* x, int64_t* y, int64_t rows, int64_t n, double level) {
  const float least = (float)level;
  #pragma omp parallel for schedule(dynamic, 8)
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n; int64_t i = 0, found = -1;
    for (; i + 16 <= n; i += 16) {
      int any = 0;
      #pragma omp simd reduction(| : any)
      for (int k = 0; k < 16; ++k) any |= a[i + k] > least;
      if (any) break;
    }
    for (; i < n; ++i) if (a[i] > least) { found = i; break; }
    y[r] = found;
  }
}
"""


def forward(self, x, level=2.0):
    if x.dim() != 2 or not x.shape[1]:
        raise ValueError("rows of at least one value")
    y = torch.empty(x.shape[0], dtype=torch.int64)
    lib.run(x.contiguous(), y, *x.shape, float(level))
    return y
