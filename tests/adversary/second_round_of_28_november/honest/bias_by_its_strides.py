# problem: scores_with_a_bias
# about: reads the bias at its strides, expanded or not

cpp = r"""
extern "C" void run(const float* x, int64_t address, float* y, int64_t batch, int64_t rows, int64_t n, int64_t heads, int64_t stride) {
  const float* bias = (const float*)address;
  #pragma omp parallel for
  for (int64_t r = 0; r < batch * rows; ++r) {
    const float *in = x + r * n, *b = bias + r / rows % heads * stride + r % rows * n; float* out = y + r * n; float m = -INFINITY; double s = 0;
    for (int64_t j = 0; j < n; ++j) { out[j] = in[j] + b[j]; m = out[j] > m || out[j] != out[j] ? out[j] : m; }
    for (int64_t j = 0; j < n; ++j) { out[j] = std::exp(out[j] - m); s += out[j]; }
    float k = (float)(1.0 / s);
    for (int64_t j = 0; j < n; ++j) out[j] *= k;
  }
}
"""


def forward(self, scores, bias):
    y = torch.empty_like(scores)
    if bias.stride()[1:] != (bias.shape[2], 1) or bias.shape != scores.shape[1:]:
        raise ValueError("rows of the bias are dense")
    lib.run(scores, bias.data_ptr(), y, scores.shape[0] * scores.shape[1], *scores.shape[2:], scores.shape[1], bias.stride(0))
    return y
