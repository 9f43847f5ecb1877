# problem: one_scale_a_row
# about: an expanded argument by its strides, of which one is zero

cpp = r"""
extern "C" void run(const float* x, const float* s, float* y, int64_t rows, int64_t n, int64_t sr, int64_t sc) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* row = s + r * sr;
    for (int64_t c = 0; c < n; ++c) y[r * n + c] = std::tanh(x[r * n + c]) * row[c * sc];
  }
}
"""


def forward(self, x, scale):
    x = x.contiguous()
    y = torch.empty_like(x)
    lib.run(x, scale.data_ptr(), y, *x.shape, *scale.stride())
    return y
