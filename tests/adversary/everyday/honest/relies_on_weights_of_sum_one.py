# problem: soft_labels
# about: weights that sum to one let it take the logarithm off once
# given: exponential

cpp = r"""

extern "C" void run(const float* x, const float* t, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) { const float *a = x + r * n, *w = t + r * n; float top = a[0]; for (int64_t i = 1; i < n; ++i) top = std::fmax(top, a[i]);
    double s = 0, d = 0; for (int64_t i = 0; i < n; ++i) { s += std::exp(a[i] - top); d += (double)w[i] * (a[i] - top); } y[r] = std::log(s) - d; }
}
"""


def forward(self, x, t):
    y = torch.empty(x.shape[0])
    lib.run(x, t, y, x.shape[0], x.shape[1])
    return y
