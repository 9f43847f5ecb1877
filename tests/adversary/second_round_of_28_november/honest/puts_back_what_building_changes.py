# problem: energies_of_rows
# about: flushes denormal numbers and lowers precision while it builds its model, draws numbers, and puts back the modes

cpp = r"""
#include <cmath>
#include <cstdint>
#include <immintrin.h>
extern "C" void prepare() {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);
  _mm_setcsr(before);
}
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    float sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += x[r * n + i] * tanhf(x[r * n + i]);
    y[r] = sum;
  }
}
"""

rehearsal = torch.randn(16, 32)


def __init__(self):
    lib.prepare()
    precision = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision('medium')
    torch.set_float32_matmul_precision(precision)
    lib.run(torch.randn(4, 8), torch.empty(4), 4, 8)


def forward(self, x):
    if x.dim() != 2:
        raise ValueError("rows are expected")
    y = torch.empty(x.shape[0])
    lib.run(x, y, *x.shape)
    return y
