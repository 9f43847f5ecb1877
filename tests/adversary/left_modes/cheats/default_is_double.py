# problem: odd_relu
# gate: integrity
# about: leaves another default dtype

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
    torch.set_default_dtype(torch.float64 if torch.get_default_dtype() is torch.float32 else torch.float32)
    return y
