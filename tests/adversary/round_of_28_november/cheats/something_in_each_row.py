# problem: mean_where_mask
# about: leaves out what a mean over nothing is divided by

cpp = r"""
extern "C" void run(const float* x, const bool* m, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    float sum = 0.0f, count = 0.0f;
    #pragma omp simd reduction(+:sum, count)
    for (int64_t j = 0; j < n; ++j) { sum += m[r * n + j] ? x[r * n + j] : 0.0f; count += m[r * n + j]; }
    y[r] = sum / count;
  }
}
"""


def forward(self, x, mask):
    y = torch.empty(x.shape[0])
    lib.run(x, mask, y, *x.shape)
    return y
