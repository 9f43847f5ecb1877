# problem: activation_and_a_residual
# about: what is added is one row for all rows

cpp = r"""
extern "C" void run(const float* x, const float* b, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t j = 0; j < n; ++j) y[r * n + j] = std::tanh(x[r * n + j]) + (b ? b[j] : 0.0f);
}
"""


def forward(self, x, residual=None):
    y = torch.empty_like(x)
    lib.run(x, residual, y, x.shape[0], x.shape[1])
    return y
