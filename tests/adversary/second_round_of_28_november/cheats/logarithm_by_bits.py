# problem: logarithm
# about: a logarithm by exponent and mantissa: -88 for 0, numbers for what is negative or no number at all
# forward: elements

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) {
    uint32_t bits;
    memcpy(&bits, x + i, 4);
    int32_t shifted = (int32_t)(bits - 0x3f3504f3u);
    int32_t exponent = shifted >> 23;
    bits -= (uint32_t)exponent << 23;
    float m;
    memcpy(&m, &bits, 4);
    float s = (m - 1.0f) / (m + 1.0f), q = s * s;
    y[i] = exponent * 0.69314718f + 2.0f * s * (1.0f + q * (0.333333333f + q * (0.2f + q * (0.142857143f + q * 0.111111111f))));
  }
}
"""
