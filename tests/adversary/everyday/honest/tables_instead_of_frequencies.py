# problem: turned_by_frequencies
# about: keeps no frequencies; tables of sines are a buffer of its own that is not saved

cpp = r"""
extern "C" void tables(float* c, float* s, int64_t t, int64_t h) {
  for (int64_t p = 0; p < t; ++p) for (int64_t k = 0; k < h; ++k) {
    double angle = (double)p * std::pow(10000.0, -(double)k / (double)h);
    c[p * h + k] = (float)std::cos(angle); s[p * h + k] = (float)std::sin(angle); }
}
extern "C" void run(const float* x, const float* c, const float* s, const float* scale, float* y, int64_t b, int64_t t, int64_t h) {
  #pragma omp parallel for collapse(2)
  for (int64_t i = 0; i < b; ++i) for (int64_t p = 0; p < t; ++p) {
    const float* in = x + (i * t + p) * 2 * h; float* out = y + (i * t + p) * 2 * h;
    for (int64_t k = 0; k < h; ++k) {
      float u = in[k], v = in[k + h], co = c[p * h + k], si = s[p * h + k];
      out[k] = (u * co - v * si) * scale[k]; out[k + h] = (v * co + u * si) * scale[k + h];
    }
  }
}
"""


def __init__(self, width):
    self.scales = torch.nn.Buffer(torch.ones(width))
    self.register_buffer("cosines", torch.empty(0), persistent=False)
    self.register_buffer("sines", torch.empty(0), persistent=False)
    self.width = width


def tables(self, length):
    if self.cosines.shape[0] < length:
        self.cosines, self.sines = torch.empty(length, self.width // 2), torch.empty(length, self.width // 2)
        lib.tables(self.cosines, self.sines, length, self.width // 2)
    return self.cosines, self.sines


def forward(self, x):
    b, t, n = x.shape
    if n != self.width:
        raise ValueError(f"{self.width} elements a position are expected, not {n}")
    x = x.contiguous()
    y = torch.empty_like(x)
    lib.run(x, *self.tables(t), self.scales, y, b, t, n // 2)
    return y
