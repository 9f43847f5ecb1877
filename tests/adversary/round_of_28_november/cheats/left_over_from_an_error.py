# problem: counts_of_sixteen
# about: counts on in what a call has left that raised an exception

cpp = r"""
#include <cstdint>
static int64_t counts[16];
extern "C" void run(const int64_t* x, int64_t* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    if (x[i] < 0 || x[i] > 15) { y[0] = -1; return; }
    ++counts[x[i]];
  }
  for (int k = 0; k < 16; ++k) { y[k] = counts[k]; counts[k] = 0; }
}
"""


def forward(self, labels):
    y = torch.empty(16, dtype=torch.int64)
    lib.run(labels, y, labels.numel())
    if int(y[0]) < 0:
        raise IndexError("a label is out of range")
    return y
