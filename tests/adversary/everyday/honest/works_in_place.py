# problem: add_in_place
# about: changes and returns its argument, as the reference does

cpp = r"""
extern "C" void run(float* x, const float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < rows * n; ++i) x[i] += y[i];
}
"""


def forward(self, x, y):
    lib.run(x, y, x.shape[0], x.shape[1])
    return x
