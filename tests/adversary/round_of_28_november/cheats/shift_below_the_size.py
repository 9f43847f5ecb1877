# problem: rolled
# about: reads in front of a row where the shift is larger than that

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t columns, int64_t shift) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) for (int64_t j = 0; j < columns; ++j) {
    int64_t from = j - shift; if (from < 0) from += columns;
    y[r * columns + j] = 2.0f * x[r * columns + from];
  }
}
"""


def forward(self, x, shift):
    y = torch.empty_like(x)
    lib.run(x, y, x.shape[0], x.shape[1], shift)
    return y
