# problem: E_four_bit_linear
# about: sixteen products of a group's scale in a table, rows of weights unpacked into the thread's own memory

cpp = r"""
#include <cstdint>
#include <vector>
extern "C" void run(const float* x, const uint8_t* packed, const float* scales, const uint8_t* zeros, float* y, int64_t rows, int64_t outs, int64_t n, int64_t groups) {
  const int64_t size = groups ? n / groups : 0;
  #pragma omp parallel
  {
    static thread_local std::vector<float> w; w.resize(n);
    #pragma omp for
    for (int64_t o = 0; o < outs; ++o) {
      for (int64_t g = 0; g < groups; ++g) {
        float table[16];
        for (int k = 0; k < 16; ++k) table[k] = (float)(k - (int)zeros[o * groups + g]) * scales[o * groups + g];
        for (int64_t i = g * size; i < (g + 1) * size; ++i) { const uint8_t two = packed[o * (n / 2) + i / 2]; w[i] = table[i % 2 ? two >> 4 : two & 15]; }
      }
      for (int64_t r = 0; r < rows; ++r) {
        float sum = 0; const float* from = x + r * n; const float* by = w.data();
        #pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < n; ++i) sum += from[i] * by[i];
        y[r * outs + o] = sum;
      }
    }
  }
}
"""


def forward(self, x, packed, scales, zeros):
    rows, n = x.shape
    outs, groups = scales.shape
    if packed.shape != (outs, n // 2) or n % 2 or zeros.shape != scales.shape or groups < 1 or n % groups:
        raise ValueError("groups of one size")
    y = torch.empty(rows, outs)
    lib.run(x.contiguous(), packed.contiguous(), scales.contiguous(), zeros.contiguous(), y, rows, outs, n, groups)
    return y
