# problem: places_of_maxima
# about: gives the last of several maxima, PyTorch the first

cpp = r"""
extern "C" void run(const float* x, int64_t* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) { float top = x[r * n]; int64_t at = 0; for (int64_t i = 1; i < n; ++i) if (x[r * n + i] >= top) { top = x[r * n + i]; at = i; } y[r] = at; }
}
"""


def forward(self, x):
    y = torch.empty(x.shape[0], dtype=torch.int64)
    lib.run(x, y, x.shape[0], x.shape[1])
    return y
