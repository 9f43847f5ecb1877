# problem: brain_norm
# about: bfloat16 by shifts, rounded to even where the reference rounds

cpp = r"""
static inline float wide(uint16_t b) { uint32_t u = (uint32_t)b << 16; float f; std::memcpy(&f, &u, 4); return f; }
static inline uint16_t narrow(float f) { uint32_t u; std::memcpy(&u, &f, 4);
  if ((u & 0x7fffffff) > 0x7f800000) return 0x7fc0;
  return (uint16_t)((u + 0x7fff + ((u >> 16) & 1)) >> 16); }
extern "C" void run(const uint16_t* x, const uint16_t* w, uint16_t* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) { float s = 0;
    #pragma omp simd reduction(+ : s)
    for (int64_t i = 0; i < n; ++i) { float v = wide(x[r * n + i]); s += v * v; }
    float scale = 1.0f / std::sqrt(s / (float)n + 1e-6f);
    for (int64_t i = 0; i < n; ++i) y[r * n + i] = narrow(wide(narrow(wide(x[r * n + i]) * scale)) * wide(w[i])); }
}
"""


def __init__(self, width):
    self.weight = torch.nn.Parameter(torch.ones(width, dtype=torch.bfloat16))


def forward(self, x):
    if x.shape[-1] != self.weight.numel():
        raise ValueError(f"rows of {self.weight.numel()} are expected")
    x = x.contiguous()
    y = torch.empty_like(x)
    lib.run(x.data_ptr(), self.weight.data_ptr(), y.data_ptr(), x.numel() // x.shape[-1], x.shape[-1])
    return y
