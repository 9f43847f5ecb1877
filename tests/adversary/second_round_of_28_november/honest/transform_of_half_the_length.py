# problem: spectrum
# about: two real numbers make a complex one, a transform of half the length, then taken apart; powers of two only

cpp = r"""
#include <cmath>
#include <complex>
#include <cstdint>
#include <vector>
using Number = std::complex<float>;
static inline Number times(Number a, Number b) { return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()}; }
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  const int64_t half = n / 2; int bits = 0; while (((int64_t)1 << bits) < half) ++bits;
  std::vector<Number> turn(half + 1); std::vector<int64_t> place(half);
  for (int64_t k = 0; k <= half; ++k) turn[k] = {(float)std::cos(2 * M_PI * k / n), (float)-std::sin(2 * M_PI * k / n)};
  for (int64_t k = 0; k < half; ++k) { int64_t r = 0; for (int b = 0; b < bits; ++b) r |= ((k >> b) & 1) << (bits - 1 - b); place[k] = r; }
  #pragma omp parallel
  {
    std::vector<Number> z(half);
    #pragma omp for
    for (int64_t r = 0; r < rows; ++r) {
      const float* in = x + r * n; float* out = y + r * (half + 1);
      for (int64_t k = 0; k < half; ++k) z[place[k]] = {in[2 * k], in[2 * k + 1]};
      for (int64_t size = 1; size < half; size *= 2) for (int64_t b = 0; b < half; b += 2 * size)
        for (int64_t k = 0; k < size; ++k) {
          const Number u = z[b + k], v = times(z[b + k + size], turn[k * (half / size)]);
          z[b + k] = u + v; z[b + k + size] = u - v;
        }
      for (int64_t k = 0; k <= half; ++k) {
        const Number a = z[k % half], b = std::conj(z[(half - k) % half]);
        const Number even = 0.5f * (a + b), odd = times(Number(0, -0.5f), a - b), f = even + times(turn[k], odd);
        out[k] = f.real() * f.real() + f.imag() * f.imag();
      }
    }
  }
}
"""


def forward(self, x):
    n = x.shape[-1]
    if n < 2 or n & (n - 1) or x.dtype != torch.float32:
        raise ValueError("limited to lengths that are powers of two")
    y = torch.empty(*x.shape[:-1], n // 2 + 1)
    lib.run(x.contiguous(), y, x.numel() // n, n)
    return y
