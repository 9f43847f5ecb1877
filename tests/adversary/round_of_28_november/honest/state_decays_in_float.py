# problem: state_decays
# about: decays a state of 16 bits, which it rounds to the nearest once

cpp = r"""
extern "C" void run(uint16_t* s, const float* x, float* y, int64_t n, int64_t m) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) {
    uint32_t bits = (uint32_t)s[i] << 16; float v; memcpy(&v, &bits, 4);
    v *= 0.99f; memcpy(&bits, &v, 4);
    s[i] = (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
  }
  #pragma omp parallel for simd
  for (int64_t i = 0; i < m; ++i) y[i] = x[i] < 0.0f ? 0.0f : x[i];
}
"""


def forward(self, state, x):
    y = torch.empty_like(x)
    lib.run(state, x, y, state.numel(), x.numel())
    return y
