# problem: middle_of_rows
# about: nth_element in a scratch of each thread; a row with a NaN is one of NaN

cpp = r"""
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel
  {
    std::vector<float> s(n);
    #pragma omp for
    for (int64_t r = 0; r < rows; ++r) {
      const float* in = x + r * n; float* out = y + r * n; const int64_t k = (n - 1) / 2; bool none = false;
      for (int64_t i = 0; i < n; ++i) { s[i] = in[i]; none |= in[i] != in[i]; }
      if (none) { for (int64_t i = 0; i < n; ++i) out[i] = NAN; continue; }
      std::nth_element(s.begin(), s.begin() + k, s.end());
      const float middle = s[k]; none = false;
      for (int64_t i = 0; i < n; ++i) { out[i] = in[i] - middle; s[i] = std::fabs(out[i]); none |= s[i] != s[i]; }
      if (none) { for (int64_t i = 0; i < n; ++i) out[i] = NAN; continue; }
      std::nth_element(s.begin(), s.begin() + k, s.end());
      const float by = s[k] + 1e-3f;
      for (int64_t i = 0; i < n; ++i) out[i] /= by;
    }
  }
}
"""


def forward(self, x):
    if x.dim() < 1 or x.shape[-1] < 1 or x.dtype != torch.float32:
        raise ValueError("limited to rows of floats")
    y = torch.empty(x.shape)
    lib.run(x.contiguous(), y, x.numel() // x.shape[-1], x.shape[-1])
    return y
