# problem: forward_substitution
# about: reads the lower triangle only, in float

cpp = r"""
extern "C" void run(const float* l, const float* b, float* x, int64_t n, int64_t m) {
  for (int64_t r = 0; r < n; ++r) {
    float* out = x + r * m; std::memcpy(out, b + r * m, 4 * m);
    for (int64_t c = 0; c < r; ++c) { const float f = l[r * n + c];
      #pragma omp simd
      for (int64_t i = 0; i < m; ++i) out[i] -= f * x[c * m + i]; }
    const float d = 1.0f / l[r * n + r];
    for (int64_t i = 0; i < m; ++i) out[i] *= d; }
}
"""


def forward(self, lower, b):
    n, m = b.shape
    if lower.shape != (n, n):
        raise ValueError("a square matrix")
    x = torch.empty(n, m)
    lib.run(lower.contiguous(), b.contiguous(), x, n, m)
    return x
