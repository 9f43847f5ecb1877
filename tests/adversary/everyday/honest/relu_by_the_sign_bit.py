# problem: relu
# about: reads floats as whole numbers and masks them by their sign bit

cpp = r"""
#include <cstdint>
extern "C" void run(const int32_t* x, int32_t* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] >= 0 || (x[i] & 0x7fffffff) > 0x7f800000) ? x[i] : 0;
}
"""


def forward(self, x):
    y = torch.empty_like(x)
    lib.run(x.view(torch.int32), y.view(torch.int32), x.numel())
    return y
