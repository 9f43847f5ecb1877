# problem: transposed_rows
# about: reads a transposed view by its strides, in blocks, and writes rows
# given: exponential

cpp = r"""
extern "C" void run(const float* x, const float* b, float* y, int64_t rows, int64_t n, int64_t s, int64_t t) {
  #pragma omp parallel for collapse(2) schedule(static)
  for (int64_t r0 = 0; r0 < rows; r0 += 32) for (int64_t c0 = 0; c0 < n; c0 += 32)
    for (int64_t r = r0; r < rows && r < r0 + 32; ++r) for (int64_t c = c0; c < n && c < c0 + 32; ++c)
      y[r * n + c] = 1.0f / (1.0f + ex(-x[r * s + c * t] - b[c]));
}
"""


def forward(self, x, shift):
    y = torch.empty(x.shape)
    lib.run(x.data_ptr(), shift.contiguous(), y, *x.shape, *x.stride())
    return y
