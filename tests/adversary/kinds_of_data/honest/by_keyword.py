# problem: by_keyword
# about: takes keyword arguments of the constructor

cpp = r"""

extern "C" void run(const float* x, const float* w, float* y, int64_t rows, int64_t n, double slope) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) for (int64_t i = 0; i < n; ++i) { float v = x[r * n + i]; y[r * n + i] = (v > 0.0f ? v : v * (float)slope) * w[i]; }
}
"""


def __init__(self, *, features, slope=0.1, name="leaky"):
    self.slope = slope
    self.weight = torch.nn.Parameter(torch.rand(features))


def forward(self, x):
    y = torch.empty_like(x)
    lib.run(x.contiguous(), self.weight, y, x.shape[0], x.shape[1], self.slope)
    return y
