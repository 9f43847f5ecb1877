# problem: E_shared_exponents
# about: the exponent by a double's bits, and a multiplication by a power of two that is exact

cpp = r"""
extern "C" void run(const float* x, int8_t* codes, int16_t* exponents, int64_t blocks) {
  #pragma omp parallel for
  for (int64_t b = 0; b < blocks; ++b) {
    const float* own = x + b * 32; float most = 0;
    for (int i = 0; i < 32; ++i) { const float a = std::fabs(own[i]); if (a > most) most = a; }
    const double wide = most; uint64_t bits; std::memcpy(&bits, &wide, 8);
    const int e = (most == 0 ? 0 : (int)(bits >> 52) - 1022) - 7;
    const uint64_t power = (uint64_t)(1023 - e) << 52; double by; std::memcpy(&by, &power, 8);
    exponents[b] = (int16_t)e;
    for (int i = 0; i < 32; ++i) { const double c = std::nearbyint(own[i] * by); codes[b * 32 + i] = (int8_t)(c < -127 ? -127 : c > 127 ? 127 : c); }
  }
}
"""


def forward(self, x):
    if x.dim() != 2 or x.shape[1] % 32 or not bool(torch.isfinite(x).all()):
        raise ValueError("finite numbers in blocks of 32")
    codes, exponents = torch.empty(x.shape, dtype=torch.int8), torch.empty(x.shape[0], x.shape[1] // 32, dtype=torch.int16)
    lib.run(x.contiguous(), codes, exponents, exponents.numel())
    return codes, exponents
