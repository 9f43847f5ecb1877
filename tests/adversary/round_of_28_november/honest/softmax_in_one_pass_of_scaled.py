# problem: softmax_of_scaled
# about: a softmax in one pass, in float, of what it scales first

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n, float temperature, float eps) {
  float by = 1.0f / temperature;
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    const float* in = x + r * n; float most = -3e38f, sum = 0.0f, squares = 0.0f;
    for (int64_t j = 0; j < n; ++j) {
      float v = in[j] * by;
      if (v > most) { sum = sum * expf(most - v) + 1.0f; most = v; } else sum += expf(v - most);
      squares += in[j] * in[j];
    }
    float factor = 1.0f / (sum * sqrtf(squares / n + eps));
    for (int64_t j = 0; j < n; ++j) y[r * n + j] = expf(in[j] * by - most) * factor;
  }
}
"""


def forward(self, x, temperature, eps):
    y = torch.empty_like(x)
    lib.run(x, y, *x.shape, temperature, eps)
    return y
