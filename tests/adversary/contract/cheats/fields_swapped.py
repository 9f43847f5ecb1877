# problem: named_pair
# gate: correctness
# about: a named tuple whose fields have changed places

cpp = r"""
extern "C" void run(const float* x, float* low, float* high, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < rows * n; ++i) { low[i] = x[i] < 0.5f ? x[i] : 0.5f; high[i] = x[i] > 0.5f ? x[i] : 0.5f; }
}
"""


from collections import namedtuple

Pair = namedtuple("Pair", ["high", "low"])


def forward(self, x):
    low, high = torch.empty_like(x), torch.empty_like(x)
    lib.run(x, low, high, x.shape[0], x.shape[1])
    return Pair(low=low, high=high)
