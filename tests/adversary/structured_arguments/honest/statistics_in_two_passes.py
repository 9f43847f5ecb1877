# problem: functional_batch_norm
# about: statistics in two passes, running ones in place

cpp = r"""
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void run(const float* x, float* m, float* v, const float* w, const float* b, float* y, int64_t rows, int64_t n, double momentum) {
  std::vector<double> s(n), q(n); std::vector<float> a(n), mean(n);
  for (int64_t r = 0; r < rows; ++r) for (int64_t i = 0; i < n; ++i) s[i] += x[r * n + i];
  for (int64_t i = 0; i < n; ++i) s[i] /= rows;
  for (int64_t r = 0; r < rows; ++r) for (int64_t i = 0; i < n; ++i) { const double d = x[r * n + i] - s[i]; q[i] += d * d; }
  const float share = (float)momentum, rest = 1.0f - share;
  for (int64_t i = 0; i < n; ++i) { mean[i] = (float)s[i]; a[i] = (float)(w[i] / std::sqrt(q[i] / rows + 1e-5));
    m[i] = std::fma(rest, m[i], share * mean[i]); v[i] = std::fma(rest, v[i], share * (float)(q[i] / (rows - 1))); }
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < n; ++i) y[r * n + i] = std::fma(x[r * n + i] - mean[i], a[i], b[i]);
}
"""


def forward(self, x, mean, variance, weight, bias, momentum=0.1):
    rows, n = x.shape
    if rows < 2:
        raise ValueError("two rows or more")
    if any(one is None or one.shape != (n,) or not one.is_contiguous() for one in (mean, variance, weight, bias)):
        raise ValueError("dense vectors of the width")
    if momentum is None:
        raise NotImplementedError("a momentum is needed")
    y = torch.empty(rows, n)
    lib.run(x.contiguous(), mean, variance, weight, bias, y, rows, n, momentum)
    return y
