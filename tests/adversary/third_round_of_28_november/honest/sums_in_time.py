# problem: E_long_convolution
# about: the sums themselves instead of a transform, which are more exact where a number is large

cpp = r"""
#include <cstdint>
#include <vector>
extern "C" void run(const float* x, const float* f, float* y, int64_t batch, int64_t channels, int64_t n) {
  #pragma omp parallel for collapse(2)
  for (int64_t b = 0; b < batch; ++b) for (int64_t c = 0; c < channels; ++c) {
    float* out = y + (b * channels + c) * n; const float *own = x + (b * channels + c) * n, *by = f + c * n;
    std::vector<double> sums(n);
    for (int64_t k = 0; k < n; ++k) {
      const float weight = by[k];
      #pragma omp simd
      for (int64_t t = k; t < n; ++t) sums[t] += weight * own[t - k]; }
    for (int64_t t = 0; t < n; ++t) out[t] = (float)sums[t];
  }
}
"""


def forward(self, x, filters):
    if x.dim() != 3 or filters.shape != x.shape[1:] or x.shape[2] < 1:
        raise ValueError("a filter as long as the sequence for each channel")
    y = torch.empty(x.shape)
    lib.run(x.contiguous(), filters.contiguous(), y, *x.shape)
    return y
