# problem: two_inputs_of_double
# about: distances in float64 without the table of all differences; a template of the type

cpp = r"""
#include <cmath>
#include <cstdint>
template <typename T> static void nearest(const T* p, const T* c, T* y, int64_t n, int64_t m, int64_t d) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) {
    T best = INFINITY;
    for (int64_t j = 0; j < m; ++j) { T s = 0; for (int64_t k = 0; k < d; ++k) { T e = p[i * d + k] - c[j * d + k]; s += e * e; }
      if (s < best || std::isnan(s)) { best = s; if (std::isnan(s)) break; } }
    y[i] = std::sqrt(best);
  }
}
extern "C" void run(const double* p, const double* c, double* y, int64_t n, int64_t m, int64_t d) { nearest<double>(p, c, y, n, m, d); }
"""


def forward(self, points, centres):
    if points.shape[1] != centres.shape[1] or centres.shape[0] == 0:
        raise ValueError("points and at least one centre of as many dimensions are expected")
    y = torch.empty(points.shape[0], dtype=torch.float64)
    lib.run(points.contiguous(), centres.contiguous(), y, points.shape[0], *centres.shape)
    return y
