# problem: bias_or_none
# about: adds a bias of one number for each column where there is one

cpp = r"""
extern "C" void run(const float* x, const float* bias, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) for (int64_t j = 0; j < n; ++j)
    y[r * n + j] = 1.0f / (1.0f + expf(-x[r * n + j])) + bias[j];
}
"""


def forward(self, x, bias):
    if bias is None:
        bias = torch.zeros(x.shape[-1])
    if bias.dim() != 1 or bias.shape[0] != x.shape[-1]:
        raise ValueError("one number for each column only")
    y = torch.empty_like(x)
    lib.run(x, bias, y, *x.shape)
    return y
