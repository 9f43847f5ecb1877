# problem: search_sorted
# about: a search that starts at the largest power of two

cpp = r"""

extern "C" void run(const float* x, const float* s, int64_t* y, int64_t n, int64_t m) {
  int64_t top = 1; while (top * 2 <= m) top *= 2;
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) { float v = x[i]; int64_t at = 0;
    for (int64_t step = top; step; step /= 2) if (at + step <= m && s[at + step - 1] < v) at += step;
    y[i] = at; }
}
"""


def forward(self, x, borders):
    y = torch.empty(x.shape, dtype=torch.int64)
    lib.run(x, borders, y, x.numel(), borders.numel())
    return y
