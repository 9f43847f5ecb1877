# problem: b_left_after_each
# about: products within blocks of 64 first, then each block times what came before it

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* in = x + r * n; float* out = y + r * n;
    int64_t whole = n / 256 * 256;
    float before = 1.0f;
    for (int64_t j = 0; j < whole; j += 256) {
      float p[4] = {1, 1, 1, 1};
      for (int64_t k = 0; k < 64; ++k)
        for (int b = 0; b < 4; ++b) { p[b] *= in[j + 64 * b + k]; out[j + 64 * b + k] = p[b]; }
      for (int b = 0; b < 4; ++b) {
        #pragma omp simd
        for (int64_t k = 0; k < 64; ++k) out[j + 64 * b + k] *= before;
        before *= p[b];
      }
    }
    for (int64_t j = whole; j < n; ++j) { before *= in[j]; out[j] = before; }
  }
}
"""


def forward(self, factors):
    y = torch.empty_like(factors)
    lib.run(factors, y, factors.shape[0], factors.shape[1])
    return y
