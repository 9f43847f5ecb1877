# problem: E_quantiles
# about: selects the lower neighbour, and the upper one is the least of what is behind it; a row with NaN gives NaN

cpp = r"""
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n, double share) {
  const float rank = (float)share * (float)(n - 1); const int64_t low = (int64_t)std::floor(rank); const float part = rank - (float)low;
  #pragma omp parallel
  {
    std::vector<float> own(n);
    #pragma omp for
    for (int64_t r = 0; r < rows; ++r) {
      bool none = false;
      for (int64_t i = 0; i < n; ++i) { own[i] = x[r * n + i]; none |= own[i] != own[i]; }
      if (none) { y[r] = NAN; continue; }
      std::nth_element(own.begin(), own.begin() + low, own.end());
      const float a = own[low];
      const float b = part > 0 ? *std::min_element(own.begin() + low + 1, own.end()) : a;
      y[r] = part < 0.5f ? a + part * (b - a) : b - (b - a) * (1 - part);
    }
  }
}
"""


def forward(self, x, share=0.9):
    if x.dim() != 2 or x.shape[1] < 1 or x.shape[1] > 2**22 or not 0 <= share <= 1:
        raise ValueError("rows of one at least, and a share from zero to one")
    y = torch.empty(x.shape[0])
    lib.run(x.contiguous(), y, *x.shape, share)
    return y
