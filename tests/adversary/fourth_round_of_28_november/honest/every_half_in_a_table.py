# problem: D_squashed_halves
# about: a table of all 65536 halves, made once in the process; a half's bits are its place

cpp = r"""
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>
typedef _Float16 half;
static std::vector<uint16_t> made() {
  std::vector<uint16_t> table(65536);
  for (int i = 0; i < 65536; ++i) {
    const uint16_t bits = (uint16_t)i; half h; std::memcpy(&h, &bits, 2);
    const float v = (float)h; const double soft = v > 20 ? (double)v : std::log1p(std::exp((double)v));
    const half out = (half)(float)(v * std::tanh(soft));
    std::memcpy(&table[i], &out, 2);
  }
  return table;
}
extern "C" void run(const uint16_t* x, uint16_t* y, int64_t n) {
  static const std::vector<uint16_t> table = made();
  const uint16_t* t = table.data();
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) y[i] = t[x[i]];
}
"""


def forward(self, x):
    if x.dtype != torch.float16:
        raise ValueError("halves")
    x = x.contiguous()
    y = torch.empty(x.shape, dtype=torch.float16)
    lib.run(x, y, x.numel())
    return y
