# problem: rest_of_a_sum
# about: a column that is what rounding leaves of a sum, summed in another order than the reference's

cpp = r"""
#include <cmath>
#include <cstdint>
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) { const float* a = x + r * n;
    float q[8] = {0}, s[8] = {0};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) for (int k = 0; k < 8; ++k) { q[k] += a[i + k] * a[i + k]; s[k] += a[i + k]; }
    for (; i < n; ++i) { q[0] += a[i] * a[i]; s[0] += a[i]; }
    for (int k = 1; k < 8; ++k) { q[0] += q[k]; s[0] += s[k]; }
    float m = s[0] / n, c[8] = {0}; for (i = 0; i < n; ++i) c[i % 8] += a[i] - m; for (int k = 1; k < 8; ++k) c[0] += c[k]; y[2 * r] = q[0]; y[2 * r + 1] = c[0]; }
}
"""


def forward(self, x):
    y = torch.empty(x.shape[0], 2)
    lib.run(x, y, x.shape[0], x.shape[1])
    return y
