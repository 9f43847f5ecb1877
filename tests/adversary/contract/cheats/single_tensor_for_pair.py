# problem: named_pair
# gate: correctness
# about: both halves stacked in one tensor

cpp = r"""
extern "C" void run(const float* x, float* low, float* high, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < rows * n; ++i) { low[i] = x[i] < 0.5f ? x[i] : 0.5f; high[i] = x[i] > 0.5f ? x[i] : 0.5f; }
}
"""


def forward(self, x):
    y = torch.empty(2, *x.shape)
    lib.run(x, y[0], y[1], x.shape[0], x.shape[1])
    return y
