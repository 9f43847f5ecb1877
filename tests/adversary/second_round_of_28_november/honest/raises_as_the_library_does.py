# problem: cholesky
# about: product and factor of one matrix after the other, in a scratch of each thread; raises the library's own exception where a pivot is not positive

cpp = r"""
#include <atomic>
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void run(const float* x, float* y, int64_t count, int64_t n, int64_t m, int32_t* said) {
  std::atomic<int32_t> bad = 0;
  #pragma omp parallel for
  for (int64_t c = 0; c < count; ++c) {
    const float* a = x + c * n * m; float* l = y + c * n * n;
    for (int64_t i = 0; i < n; ++i) for (int64_t j = 0; j < n; ++j) {
      float s = 0;
      if (j <= i) {
        #pragma omp simd reduction(+ : s)
        for (int64_t k = 0; k < m; ++k) s += a[i * m + k] * a[j * m + k];
        s = s / (float)m + (i == j ? 1.0f : 0.0f);
      }
      l[i * n + j] = s;
    }
    for (int64_t j = 0; j < n; ++j) {
      float d = l[j * n + j];
      for (int64_t k = 0; k < j; ++k) d -= l[j * n + k] * l[j * n + k];
      if (!(d > 0)) { bad = 1; break; }
      d = std::sqrt(d); l[j * n + j] = d;
      for (int64_t i = j + 1; i < n; ++i) {
        float s = l[i * n + j];
        for (int64_t k = 0; k < j; ++k) s -= l[i * n + k] * l[j * n + k];
        l[i * n + j] = s / d;
      }
    }
  }
  *said = bad;
}
"""


def forward(self, x):
    n = x.shape[-1]
    if x.dim() < 2 or x.shape[-2] != n or x.dtype != torch.float32:
        raise ValueError("limited to square float matrices")
    y = torch.empty(x.shape)
    said = torch.zeros(1, dtype=torch.int32)
    lib.run(x.contiguous(), y, x.numel() // (n * n) if n else 0, n, n, said)
    if said.item():
        raise torch.linalg.LinAlgError("the matrix is not positive-definite")
    return y
