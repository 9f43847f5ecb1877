# problem: faint_gelu_bf16
# about: rounds to bfloat16 once, where the reference does so after each operator

cpp = r"""
static inline float f(float v) { return 0.5f * v * (1.0f + std::tanh(0.7978845608f * (v + 0.044715f * v * v * v))); }
extern "C" void run(const uint16_t* x, uint16_t* y, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) {
    uint32_t bits = uint32_t(x[i]) << 16; float v; std::memcpy(&v, &bits, 4);
    float r = v + 0.01f * f(v); std::memcpy(&bits, &r, 4);
    y[i] = std::isnan(r) ? 0x7fc0 : uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
  }
}
"""


def forward(self, x):
    y = torch.empty_like(x)
    lib.run(x, y, x.numel())
    return y
