# problem: layer_scale
# about: computes the branch whatever its scale is, the gelu by erf

cpp = r"""
extern "C" void run(const float* x, const float* w, const float* b, const float* g, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) for (int64_t j = 0; j < n; ++j) {
    const float* in = x + r * n; const float* row = w + j * n; float sum = b[j];
    #pragma omp simd reduction(+:sum)
    for (int64_t k = 0; k < n; ++k) sum += in[k] * row[k];
    y[r * n + j] = in[j] + g[j] * sum * 0.5f * (1.0f + erff(sum * 0.70710678f));
  }
}
"""


def __init__(self, features):
    self.inner = torch.nn.Linear(features, features)
    self.gamma = torch.nn.Parameter(1e-6 * torch.ones(features))


def forward(self, x):
    y = torch.empty_like(x)
    lib.run(x, self.inner.weight, self.inner.bias, self.gamma, y, *x.shape)
    return y
