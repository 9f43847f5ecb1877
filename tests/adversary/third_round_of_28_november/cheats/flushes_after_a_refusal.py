# problem: c_softsign
# about: a call that raises an exception leaves the mode that it set: nothing puts it back

cpp = r"""
#include <cmath>
#include <cstdint>
#include <xmmintrin.h>
extern "C" void flush(int64_t is_on) {
  const unsigned bits = 0x8040, now = _mm_getcsr();
  _mm_setcsr(is_on ? now | bits : now & ~bits);
}
extern "C" void run(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] / (1.0f + std::fabs(x[i]));
}
"""


def forward(self, x):
    y = torch.empty_like(x, memory_format=torch.contiguous_format)
    lib.flush(1)
    lib.run(x, y, x.numel())
    lib.flush(0)
    return y
