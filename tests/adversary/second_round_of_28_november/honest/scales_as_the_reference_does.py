# problem: rows_to_bytes
# about: multiplies by the inverse of a scale with the bound that is for rows of zeros

cpp = r"""
extern "C" void run(const float* x, int8_t* q, float* s, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = x + r * n; float top = 1e-12f;
    for (int64_t j = 0; j < n; ++j) { const float m = fabsf(a[j]); top = m > top || m != m ? m : top; }
    const float scale = top / 127.0f; s[r] = scale;
    for (int64_t j = 0; j < n; ++j) {
      float v = nearbyintf(a[j] / scale);
      q[r * n + j] = (int8_t)(v > 127.0f ? 127.0f : v < -127.0f ? -127.0f : v);
    }
  }
}
"""


def forward(self, x):
    q = torch.empty(x.shape, dtype=torch.int8)
    s = torch.empty(*x.shape[:-1], 1)
    if x.numel() == 0 and x.shape[-1] == 0:
        raise ValueError("rows of nothing")
    lib.run(x, q, s, x.numel() // x.shape[-1], x.shape[-1])
    return q, s
