# problem: odd_relu
# about: draws numbers of a generator of its own

cpp = r"""
#include <cfenv>
#include <cstdint>
#include <immintrin.h>
extern "C" void run(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] > 0.0f ? x[i] : 0.0f;
}
"""


def forward(self, x):
    y = torch.empty_like(x)
    lib.run(x, y, x.numel())
    torch.rand(1, generator=torch.Generator())
    return y
