# problem: middle_columns
# about: a window of columns by the stride of its rows; other layouts are made dense
# given: exponential

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n, int64_t stride) {
  #pragma omp parallel for schedule(guided)
  for (int64_t r = 0; r < rows; ++r) for (int64_t c = 0; c < n; ++c) {
    float v = x[r * stride + c];
    y[r * n + c] = std::fmax(v, 0.0f) + std::log1p(ex(-std::fabs(v)));
  }
}
"""


def forward(self, x):
    if x.stride(1) != 1:
        x = x.contiguous()
    y = torch.empty(x.shape)
    lib.run(x.data_ptr(), y, x.shape[0], x.shape[1], x.stride(0))
    return y
