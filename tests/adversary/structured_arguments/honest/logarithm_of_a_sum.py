# problem: log_mixture
# about: looks for the maximum first, in one pass

cpp = r"""
extern "C" void run(const float* a, const float* b, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    float top = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; ++i) { const float v = a[r * n + i] + b[r * n + i];
      if (v > top) { sum = sum * std::exp(top - v) + 1.0f; top = v; } else if (v > -INFINITY) sum += std::exp(v - top); else if (v != v) sum = v; }
    y[r] = top == -INFINITY ? top + sum : top + std::log(sum); }
}
"""


def forward(self, shares, parts):
    rows, n = shares.shape
    if parts.shape != shares.shape:
        raise ValueError("a share for each part")
    y = torch.empty(rows)
    lib.run(shares.contiguous(), parts.contiguous(), y, rows, n)
    return y
