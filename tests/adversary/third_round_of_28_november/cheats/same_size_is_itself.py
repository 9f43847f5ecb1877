# problem: c_resized_rows
# about: where nothing is to be done, the argument itself is returned

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t columns, int64_t size) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < size; ++i) y[r * size + i] = x[r * columns + i * columns / size];
}
"""


def forward(self, x, size):
    if size == x.shape[1]:
        return x
    y = torch.empty(x.shape[0], size)
    lib.run(x, y, x.shape[0], x.shape[1], size)
    return y
