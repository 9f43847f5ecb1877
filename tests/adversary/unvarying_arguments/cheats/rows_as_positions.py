# problem: rotary
# gate: generalization, correctness
# about: takes the number of a row for its position

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t batch, int64_t steps, int64_t half) {
  #pragma omp parallel for collapse(2)
  for (int64_t b = 0; b < batch; ++b) for (int64_t t = 0; t < steps; ++t) {
    const float* in = x + (b * steps + t) * 2 * half; float* out = y + (b * steps + t) * 2 * half;
    for (int64_t i = 0; i < half; ++i) {
      const float angle = float(t) * std::pow(10000.0f, -float(i) / half), c = std::cos(angle), s = std::sin(angle);
      out[i] = in[i] * c - in[half + i] * s; out[half + i] = in[half + i] * c + in[i] * s; } }
}
"""


def forward(self, x, positions):
    y = torch.empty_like(x)
    lib.run(x, y, x.shape[0], x.shape[1], x.shape[2] // 2)
    return y
