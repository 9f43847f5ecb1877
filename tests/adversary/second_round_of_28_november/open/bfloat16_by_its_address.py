# problem: energies_of_rows
# about: takes any dtype, and hands over an address, which no declaration can be compared with: bfloat16 is read as float

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    float sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += x[r * n + i] * tanhf(x[r * n + i]);
    y[r] = sum;
  }
}
"""


def forward(self, x):
    y = torch.empty(x.shape[0], dtype=x.dtype)
    lib.run(x.data_ptr(), y.data_ptr(), *x.shape)
    return y
