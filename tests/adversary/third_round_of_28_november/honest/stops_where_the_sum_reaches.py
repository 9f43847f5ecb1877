# problem: E_draws_from_rows
# about: a running sum in float that stops where it reaches the number: no sums are written

cpp = r"""
extern "C" void run(const float* p, const float* u, int64_t* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    float sum = 0; int64_t place = n - 1;
    for (int64_t i = 0; i < n; ++i) { sum += p[r * n + i]; if (!(sum < u[r])) { place = i; break; } }
    y[r] = place; }
}
"""


def forward(self, shares, chance):
    rows, n = shares.shape
    if chance.shape != (rows,) or n < 1:
        raise ValueError("one number for each row")
    y = torch.empty(rows, dtype=torch.int64)
    lib.run(shares.contiguous(), chance.contiguous(), y, rows, n)
    return y
