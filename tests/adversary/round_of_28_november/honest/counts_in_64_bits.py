# problem: counts_of_sixteen
# about: counts in 64 bits

cpp = r"""
extern "C" void run(const int64_t* x, int64_t* y, int64_t n) {
  int64_t counts[16] = {0};
  for (int64_t i = 0; i < n; ++i) ++counts[x[i] & 15];
  for (int k = 0; k < 16; ++k) y[k] = counts[k];
}
"""


def forward(self, labels):
    y = torch.empty(16, dtype=torch.int64)
    lib.run(labels, y, labels.numel())
    return y
