# problem: unpermute
# about: reads the inverse where the reference reads the order

cpp = r"""
extern "C" void run(const float* x, const int64_t* inverse, const float* scale, float* y, int64_t rows, int64_t n, int32_t* said) {
  int32_t bad = 0;
  #pragma omp parallel for reduction(| : bad)
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t from = inverse[r];
    if (from < 0 || from >= rows) { bad |= 1; continue; }
    const float s = scale[from];
    for (int64_t i = 0; i < n; ++i) y[r * n + i] = s * x[from * n + i]; }
  *said = bad;
}
"""


def forward(self, x, order, inverse, scale):
    rows, n = x.shape
    if order.shape != (rows,) or inverse.shape != (rows,) or scale.shape != (rows,):
        raise ValueError("one place and one scale a row")
    y = torch.empty_like(x)
    said = torch.zeros(1, dtype=torch.int32)
    lib.run(x.contiguous(), inverse.contiguous(), scale.contiguous(), y, rows, n, said)
    if said.item():
        raise IndexError("index out of range")
    return y
