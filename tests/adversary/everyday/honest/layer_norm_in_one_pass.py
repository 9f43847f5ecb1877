# problem: layer_norm_bf16
# about: variance as the mean of squares less the square of the mean, in float
# forward: rows

cpp = r"""
static inline float up(uint16_t v) { uint32_t b = (uint32_t)v << 16; float f; std::memcpy(&f, &b, 4); return f; }
static inline uint16_t down(float f) { uint32_t b; std::memcpy(&b, &f, 4); return (uint16_t)((b + 0x7fff + ((b >> 16) & 1)) >> 16); }
extern "C" void run(const uint16_t* x, uint16_t* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const uint16_t* a = x + r * n; uint16_t* b = y + r * n;
    float s = 0, q = 0;
    #pragma omp simd reduction(+ : s, q)
    for (int64_t i = 0; i < n; ++i) { float v = up(a[i]); s += v; q += v * v; }
    float m = s / n, k = 1 / std::sqrt(std::fmax(q / n - m * m, 0.0f) + 1e-5f);
    for (int64_t i = 0; i < n; ++i) b[i] = down((up(a[i]) - m) * k);
  }
}
"""
