# problem: positions_added
# about: keeps a table for each number of columns, as many as there are

cpp = r"""
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>
static std::map<int64_t, std::vector<double>> tables;
static const double* steps_of(int64_t n) {
  std::vector<double>& steps = tables[n];
  if (!steps.empty() || n == 0) return steps.data();
  steps.resize(n);
  for (int64_t i = 0; i < n; ++i) steps[i] = exp(i * (-9.0 / n));
  return steps.data();
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
