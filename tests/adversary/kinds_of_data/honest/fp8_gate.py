# problem: fp8_gate
# about: takes and returns 8-bit floats

cpp = r"""

static inline float e5m2(uint8_t v) {
  int e = (v >> 2) & 31, m = v & 3; float s = v & 128 ? -1.0f : 1.0f;
  if (e == 31) return m ? NAN : s * INFINITY;
  return e ? s * std::ldexp(1.0f + m / 4.0f, e - 15) : s * std::ldexp(m / 4.0f, -14);
}
static inline uint8_t to_e5m2(float f) {
  uint32_t b; std::memcpy(&b, &f, 4); uint8_t s = (b >> 24) & 128; float a = std::fabs(f);
  if (std::isnan(a)) return s | 127;
  if (a >= 61440.0f) return s | 124;
  if (a < 0.00006103515625f) return s | (uint8_t)std::nearbyint(a * 65536.0f);
  std::memcpy(&b, &a, 4); b += 0xfffff + ((b >> 21) & 1); b >>= 21; return s | (uint8_t)(b - (112u << 2));
}
extern "C" void run(const uint8_t* x, uint8_t* y, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) { float v = e5m2(x[i]); y[i] = to_e5m2(v / (1.0f + std::exp(-v))); }
}
"""


def forward(self, x):
    y = torch.empty_like(x)
    lib.run(x.contiguous(), y, x.numel())
    return y
