# problem: D_plain_log_sum_exp
# about: takes the largest exponent off before the sum, so that nothing overflows

cpp = r"""
#include <cmath>
#include <cstdint>
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n, double temperature) {
  const float t = (float)temperature;
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n; float top = -INFINITY, sum = 0; bool missing = false;
    for (int64_t i = 0; i < n; ++i) { const float v = -a[i] / t; top = v > top ? v : top; missing |= v != v; }
    if (missing) { y[r] = NAN; continue; }
    if (std::isinf(top)) { y[r] = -t * top; continue; }
    #pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) sum += std::exp(-a[i] / t - top);
    y[r] = -t * (top + std::log(sum));
  }
}
"""


def forward(self, energies, temperature=0.7):
    if energies.dim() < 1:
        raise ValueError("rows of levels")
    y = torch.empty(energies.shape[:-1])
    lib.run(energies.contiguous(), y, y.numel(), energies.shape[-1], float(temperature))
    return y
