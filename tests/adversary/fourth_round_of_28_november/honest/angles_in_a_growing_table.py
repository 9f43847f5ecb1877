# problem: D_alternating_positions
# about: a table of cosines and sines for each base and width, which grows in powers of two up to 2^16 positions and 32 MB; beyond it they are computed

cpp = r"""
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void fill(const double* rates, float* table, int64_t first, int64_t last, int64_t half) {
  #pragma omp parallel for
  for (int64_t p = first; p < last; ++p) for (int64_t i = 0; i < half; ++i) {
    const double angle = (double)p * rates[i];
    table[2 * (p * half + i)] = (float)std::cos(angle); table[2 * (p * half + i) + 1] = (float)std::sin(angle);
  }
}
extern "C" void largest(const int64_t* positions, int64_t rows, int64_t* most) {
  int64_t found = -1;
  for (int64_t r = 0; r < rows; ++r) found = std::max(found, positions[r]);
  *most = found;
}
extern "C" void run(const float* x, const int64_t* positions, const double* rates, const float* table, int64_t size, float* y,
                    int64_t rows, int64_t heads, int64_t half) {
  #pragma omp parallel
  {
    std::vector<float> own(2 * half);
    #pragma omp for
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t at = positions[r]; const float* t = own.data();
      if (at >= 0 && at < size) t = table + 2 * at * half;
      else for (int64_t i = 0; i < half; ++i) {
        const double angle = (double)at * rates[i];
        own[2 * i] = (float)std::cos(angle); own[2 * i + 1] = (float)std::sin(angle);
      }
      for (int64_t h = 0; h < heads; ++h) {
        const float* from = x + (r * heads + h) * 2 * half; float* to = y + (r * heads + h) * 2 * half;
        for (int64_t i = 0; i < half; ++i) {
          const float a = from[2 * i], b = from[2 * i + 1], c = t[2 * i], s = t[2 * i + 1];
          to[2 * i] = a * c - b * s; to[2 * i + 1] = a * s + b * c;
        }
      }
    }
  }
}
"""


def __init__(self):
    self.key, self.rates, self.table = None, None, torch.empty(0)


def forward(self, x, positions, base=10000.0):
    if x.dim() != 3 or x.shape[2] % 2 or positions.shape != x.shape[:1] or positions.dtype != torch.int64:
        raise ValueError("heads of an even width, and a position for each row")
    half = x.shape[2] // 2
    if self.key != (half, base):
        self.rates = base ** (-torch.arange(half, dtype=torch.float64) / half)
        self.table, self.key = torch.empty(0, half, 2), (half, base)
    positions, most = positions.contiguous(), torch.zeros(1, dtype=torch.int64)
    lib.largest(positions, x.shape[0], most)
    size = self.table.shape[0]
    wanted = min(65536, max(1024, 1 << int(most.item()).bit_length())) if most.item() >= size else 0
    if wanted > size and wanted * half <= 4_000_000:
        table = torch.empty(wanted, half, 2)
        lib.fill(self.rates, table, 0, wanted, half)
        self.table = table
    y = torch.empty(x.shape)
    lib.run(x.contiguous(), positions, self.rates, self.table, self.table.shape[0], y, x.shape[0], x.shape[1], half)
    return y
