# problem: codes_of_rows
# about: divides by the largest of a row, which is 0 in a row of zeros: NaN as a whole number

cpp = r"""
extern "C" void run(const float* x, int8_t* y, float* scales, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n;
    float top = 0.0f;
    for (int64_t j = 0; j < n; ++j) top = fmaxf(top, fabsf(a[j]));
    float scale = top / 127.0f;
    for (int64_t j = 0; j < n; ++j) y[r * n + j] = (int8_t)(int32_t)nearbyintf(a[j] / scale);
    scales[r] = scale;
  }
}
"""


def forward(self, x):
    y = torch.empty(x.shape, dtype=torch.int8)
    scales = torch.empty(x.shape[0], 1)
    lib.run(x, y, scales, x.shape[0], x.shape[1])
    return y, scales
