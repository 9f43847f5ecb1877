# problem: rows_of_cosines
# about: divides by both lengths, without the bound that is for a vector of zeros

cpp = r"""
extern "C" void run(const float* x, const float* y, float* z, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float *a = x + r * n, *b = y + r * n; float ab = 0.0f, aa = 0.0f, bb = 0.0f;
    #pragma omp simd reduction(+:ab,aa,bb)
    for (int64_t j = 0; j < n; ++j) { ab += a[j] * b[j]; aa += a[j] * a[j]; bb += b[j] * b[j]; }
    z[r] = ab / (sqrtf(aa) * sqrtf(bb));
  }
}
"""


def forward(self, x, y):
    z = torch.empty(x.shape[0])
    if x.shape[1] == 0 or x.shape != y.shape:
        raise ValueError("rows of nothing")
    lib.run(x, y, z, x.shape[0], x.shape[1])
    return z
