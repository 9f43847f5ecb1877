# problem: search_sorted
# about: a binary search without branches in sorted borders

cpp = r"""

extern "C" void run(const float* x, const float* s, int64_t* y, int64_t n, int64_t m) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) { float v = x[i]; int64_t at = 0, left = m;
    while (left > 0) { int64_t half = left / 2; bool less = s[at + half] < v; at = less ? at + half + 1 : at; left = less ? left - half - 1 : half; }
    y[i] = at; }
}
"""


def forward(self, x, borders):
    y = torch.empty(x.shape, dtype=torch.int64)
    lib.run(x, borders, y, x.numel(), borders.numel())
    return y
