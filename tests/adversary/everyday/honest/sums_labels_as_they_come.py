# problem: label_loss
# about: labels pick elements of rows; the reference ignores one and refuses others that are out of range

cpp = r"""
#include <cmath>
#include <cstdint>
extern "C" void run(const float* x, const int64_t* l, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    if (l[r] == -100) { y[r] = 0; continue; }
    float m = x[r * n], s = 0;
    for (int64_t i = 1; i < n; ++i) m = std::fmax(m, x[r * n + i]);
    for (int64_t i = 0; i < n; ++i) s += std::exp(x[r * n + i] - m);
    y[r] = m + std::log(s) - x[r * n + l[r]];
  }
}
"""


def forward(self, x, labels):
    y = torch.empty(x.shape[0])
    lib.run(x, labels, y, x.shape[0], x.shape[1])
    return y
