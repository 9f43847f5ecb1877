# problem: bags_by_offsets
# about: sums rows of a table from offset to offset, some bags empty

cpp = r"""
extern "C" void run(const int64_t* t, const int64_t* o, const float* w, float* y, int64_t tokens, int64_t bags, int64_t n) {
  #pragma omp parallel for schedule(dynamic, 8)
  for (int64_t b = 0; b < bags; ++b) {
    float* out = y + b * n;
    std::memset(out, 0, sizeof(float) * n);
    for (int64_t i = o[b]; i < (b + 1 < bags ? o[b + 1] : tokens); ++i)
      for (int64_t k = 0; k < n; ++k) out[k] += w[t[i] * n + k];
  }
}
"""


def __init__(self, rows, width):
    self.table = torch.nn.Parameter(torch.empty(rows, width))


def forward(self, tokens, offsets):
    y = torch.empty(offsets.shape[0], self.table.shape[1])
    lib.run(tokens.contiguous(), offsets.contiguous(), self.table.detach(), y, tokens.shape[0], *y.shape)
    return y
