# problem: transition
# about: takes the power of the matrix by squaring, and multiplies once

cpp = r"""
static void product(const float* a, const float* b, float* c, int64_t rows, int64_t k, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) { float* out = c + r * n; std::memset(out, 0, 4 * n);
    for (int64_t i = 0; i < k; ++i) { const float f = a[r * k + i];
      #pragma omp simd
      for (int64_t j = 0; j < n; ++j) out[j] += f * b[i * n + j]; } }
}
extern "C" void run(const float* x, const float* y, float* z, int64_t rows, int64_t k, int64_t n) { product(x, y, z, rows, k, n); }
"""


def forward(self, state, matrix, steps):
    rows, n = state.shape
    if matrix.shape != (n, n) or steps < 1:
        raise ValueError("a square matrix and a step at least")
    state, power = state.contiguous(), matrix.contiguous()
    while steps:
        if steps % 2:
            after = torch.empty(rows, n)
            lib.run(state, power, after, rows, n, n)
            state = after
        steps //= 2
        if steps:
            square = torch.empty(n, n)
            lib.run(power, power, square, n, n, n)
            power = square
    return state
