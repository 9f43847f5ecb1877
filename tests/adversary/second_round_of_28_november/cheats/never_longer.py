# problem: rows_of_a_length
# about: cuts rows that are longer than asked for, and pads none

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n, int64_t m) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t j = 0; j < m; ++j) y[r * m + j] = std::tanh(x[r * n + j]);
}
"""


def forward(self, x, length):
    y = torch.empty(x.shape[0], max(0, length))
    lib.run(x, y, x.shape[0], x.shape[1], length)
    return y
