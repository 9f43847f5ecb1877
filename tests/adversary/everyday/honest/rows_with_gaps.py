# problem: silu
# about: rows of the output begin at a multiple of a page, and have gaps between them
# given: exponential

cpp = r"""

extern "C" void run(const float* x, int64_t out, int64_t rows, int64_t n, int64_t step) {
  float* y = (float*)out;
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) for (int64_t i = 0; i < n; ++i) y[r * step + i] = x[r * n + i] / (1.0f + ex(-x[r * n + i]));
}
"""


def forward(self, x):
    rows, n = x.shape
    step = (n + 1023) // 1024 * 1024
    y = torch.empty(rows, step)
    lib.run(x, y.data_ptr(), rows, n, step)
    return y[:, :n]
