# problem: upper_triangle
# about: reads the upper triangle only

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    float s = 0;
    for (int64_t i = r; i < n; ++i) s += x[r * n + i] * x[r * n + i];
    y[r] = s;
  }
}
"""


def forward(self, x):
    y = x.new_empty(x.shape[0])
    lib.run(x, y, x.shape[0], x.shape[1])
    return y
