# problem: positions_added
# about: keeps a table for each number of columns in an array of 64: the next one lands beyond it

cpp = r"""
#include <cmath>
#include <cstdint>
struct Entry { int64_t columns; double* steps; };
static Entry entries[64];
static int64_t used = 0;
static const double* steps_of(int64_t n) {
  for (int64_t e = 0; e < used; ++e) if (entries[e].columns == n) return entries[e].steps;
  double* steps = new double[n > 0 ? n : 1];
  for (int64_t i = 0; i < n; ++i) steps[i] = exp(i * (-9.0 / n));
  entries[used].columns = n;
  entries[used].steps = steps;
  ++used;
  return steps;
}
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  const double* f = steps_of(n);
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < n; ++i) y[r * n + i] = x[r * n + i] + (float)sin(r * f[i]);
}
"""


def forward(self, x):
    if x.dim() != 2:
        raise ValueError("rows are expected")
    y = torch.empty_like(x)
    lib.run(x, y, *x.shape)
    return y
