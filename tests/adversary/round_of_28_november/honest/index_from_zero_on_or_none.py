# problem: kinds_of_rows
# about: looks whether an index is one of a row, counted from zero, and says so where it is not

cpp = r"""
extern "C" void run(const float* x, const float* t, const int64_t* kind, float* y, int64_t* seen, int64_t rows, int64_t n, int64_t size) {
  int32_t wrong = 0;
  #pragma omp parallel for reduction(|:wrong)
  for (int64_t r = 0; r < rows; ++r) {
    int64_t k = kind[r];
    if (k < 0 || k >= size) { wrong |= 1; continue; }
    for (int64_t j = 0; j < n; ++j) y[r * n + j] = x[r * n + j] + t[k * n + j];
  }
  *seen = wrong;
}
"""


def forward(self, x, table, kind):
    y = torch.empty_like(x)
    seen = torch.zeros((), dtype=torch.int64)
    lib.run(x, table, kind, y, seen, *x.shape, table.shape[0])
    if int(seen):
        raise IndexError("kinds are counted from zero")
    return y
