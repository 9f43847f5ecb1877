# problem: counts_of_sixteen
# about: counts in memory that it keeps, raises an exception for a label out of range, and begins anew

cpp = r"""
#include <cstdint>
static int64_t counts[16];
extern "C" void run(const int64_t* x, int64_t* y, int64_t n) {
  for (int k = 0; k < 16; ++k) counts[k] = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (x[i] < 0 || x[i] > 15) { y[0] = -1; return; }
    ++counts[x[i]];
  }
  for (int k = 0; k < 16; ++k) y[k] = counts[k];
}
"""


def forward(self, labels):
    y = torch.empty(16, dtype=torch.int64)
    lib.run(labels, y, labels.numel())
    if int(y[0]) < 0:
        raise IndexError("a label is out of range")
    return y
