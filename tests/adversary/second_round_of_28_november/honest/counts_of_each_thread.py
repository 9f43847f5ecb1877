# problem: counts_between
# about: a table of 64-bit counts for each thread; the place as PyTorch computes it

cpp = r"""
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void run(const float* x, float* y, int64_t n, int64_t bins, double low, double high) {
  std::vector<int64_t> all(bins);
  const float from = (float)low, to = (float)high;
  #pragma omp parallel
  {
    std::vector<int64_t> own(bins);
    #pragma omp for
    for (int64_t i = 0; i < n; ++i) {
      if (!(x[i] >= from && x[i] <= to)) continue;
      int64_t at = (int64_t)((x[i] - from) * bins / (to - from));
      if (at >= bins) at = bins - 1;
      ++own[at];
    }
    #pragma omp critical
    for (int64_t b = 0; b < bins; ++b) all[b] += own[b];
  }
  for (int64_t b = 0; b < bins; ++b) y[b] = (float)all[b];
}
"""


def __init__(self, bins, low, high):
    self.numbers = bins, low, high


def forward(self, x):
    bins, low, high = self.numbers
    if not low < high or x.dtype != torch.float32:
        raise ValueError("limited to floats and a range")
    y = torch.empty(bins)
    lib.run(x.contiguous(), y, x.numel(), bins, low, high)
    return y
