# problem: largest_scale
# about: finds the largest weight again whenever the weights have changed

cpp = r"""
#include <algorithm>
#include <cmath>
#include <cstdint>
extern "C" void largest(const float* w, float* out, int64_t n) { out[0] = *std::max_element(w, w + n); }
extern "C" void run(const float* x, const float* most, float* y, int64_t n) {
  const float scale = most[0];
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = std::tanh(x[i] * scale);
}
"""


def __init__(self):
    self.scale = torch.nn.Parameter(torch.randn(4096))
    self.seen = None
    self.most = torch.empty(1)


def forward(self, x):
    version = (self.scale._version, self.scale.data_ptr())
    if self.seen != version:
        lib.largest(self.scale, self.most, self.scale.numel())
        self.seen = version
    y = torch.empty_like(x)
    lib.run(x, self.most, y, x.numel())
    return y
