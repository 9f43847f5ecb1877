# problem: kinds_of_rows
# about: reads three bits of an index, of which eight values occur

cpp = r"""
extern "C" void run(const float* x, const float* t, const int64_t* kind, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) for (int64_t j = 0; j < n; ++j) y[r * n + j] = x[r * n + j] + t[(kind[r] & 7) * n + j];
}
"""


def forward(self, x, table, kind):
    y = torch.empty_like(x)
    lib.run(x, table, kind, y, *x.shape)
    return y
