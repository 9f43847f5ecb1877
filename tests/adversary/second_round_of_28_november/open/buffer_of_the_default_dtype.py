# problem: energies_of_rows
# about: the output has the caller's default dtype, and the kernel writes float

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
    if x.dim() != 2 or x.dtype != torch.float32:
        raise ValueError("rows of float are expected")
    y = torch.empty(x.shape[0])
    lib.run(x, y, *x.shape)
    return y
