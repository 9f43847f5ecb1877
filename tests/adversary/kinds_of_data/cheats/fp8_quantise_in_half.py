# problem: fp8_quantise
# gate: correctness
# about: divides in bfloat16 before it rounds: one result in twenty is a step off

cpp = r"""

static inline uint8_t to_e4m3(float f) {
  uint32_t b; std::memcpy(&b, &f, 4); uint8_t s = (b >> 24) & 128; float a = std::fabs(f);
  if (std::isnan(a)) return s | 127;
  if (a >= 448.0f) return s | 126;
  if (a < 0.015625f) return s | (uint8_t)std::nearbyint(a * 512.0f);
  std::memcpy(&b, &a, 4); b += 0x7ffff + ((b >> 20) & 1); b >>= 20; uint32_t v = b - (120u << 3);
  return s | (uint8_t)(v > 126 ? 126 : v);
}
static inline float narrow(float f) { uint32_t b; std::memcpy(&b, &f, 4); b += 0x7fff + ((b >> 16) & 1); b &= 0xffff0000u; std::memcpy(&f, &b, 4); return f; }
extern "C" void run(const float* x, uint8_t* y, float* scale, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) { const float* p = x + r * n; float top = 0.0f;
    for (int64_t i = 0; i < n; ++i) { float a = std::fabs(p[i]); top = (a > top || std::isnan(a)) ? a : top; if (std::isnan(a)) break; }
    float s = (top < 1e-12f ? 1e-12f : top) / 448.0f; scale[r] = s; 
    for (int64_t i = 0; i < n; ++i) y[r * n + i] = to_e4m3(narrow(p[i] / s)); }
}
"""


def forward(self, x):
    y = torch.empty(x.shape, dtype=torch.float8_e4m3fn)
    scale = torch.empty(x.shape[0], 1)
    lib.run(x.contiguous(), y, scale, x.shape[0], x.shape[1])
    return y, scale
