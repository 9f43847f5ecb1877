# problem: rows_to_bytes_and_scales
# about: multiplies by the inverse of the scale, as most do: a quotient near a half may fall on the other side

cpp = r"""
extern "C" void run(const float* x, int8_t* y, float* scale, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* in = x + r * n; float most = 0;
    for (int64_t i = 0; i < n; ++i) { const float v = std::fabs(in[i]); if (v > most || v != v) most = v; if (most != most) break; }
    const float s = (most < 1e-8f ? 1e-8f : most) / 127.0f, inverse = 1.0f / s;
    scale[r] = s;
    for (int64_t i = 0; i < n; ++i) { float q = std::nearbyint(in[i] * inverse); q = q > 127.0f ? 127.0f : q < -127.0f ? -127.0f : q; y[r * n + i] = (int8_t)(int32_t)q; }
  }
}
"""


def forward(self, x):
    if x.dim() < 1 or x.dtype != torch.float32 or x.shape[-1] == 0:
        raise ValueError("limited to rows of floats")
    y = torch.empty(x.shape, dtype=torch.int8)
    scale = torch.empty(*x.shape[:-1], 1)
    lib.run(x.contiguous(), y, scale, scale.numel(), x.shape[-1])
    return y, scale
