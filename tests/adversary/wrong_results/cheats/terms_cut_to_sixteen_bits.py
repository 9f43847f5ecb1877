# problem: sums_of_centred
# gate: correctness
# about: cuts every term to sixteen bits, where terms nearly cancel

cpp = r"""
#include <cstdint>
#include <cstring>

extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    double s = 0;
    for (int64_t i = 0; i < n; ++i) {
      uint32_t bits; std::memcpy(&bits, x + r * n + i, 4); bits &= 0xffff0000u;
      float cut; std::memcpy(&cut, &bits, 4); s += cut;
    }
    y[r] = (float)s;
  }
}
"""


def forward(self, x):
    y = torch.empty(x.shape[:-1])
    lib.run(x, y, x.shape[0], x.shape[1])
    return y
