# problem: scores_with_a_bias
# about: the bias is one for all heads, since it is announced as expanded; the report names the limit
# expect: accepted
# remark: PROVEN FOR THE ANNOUNCED STRIDES ONLY

cpp = r"""
extern "C" void run(const float* x, int64_t address, float* y, int64_t batch, int64_t rows, int64_t n) {
  const float* bias = (const float*)address;
  #pragma omp parallel for
  for (int64_t r = 0; r < batch * rows; ++r) {
    const float *in = x + r * n, *b = bias + r % rows * n; float* out = y + r * n; float m = -INFINITY; double s = 0;
    for (int64_t j = 0; j < n; ++j) { out[j] = in[j] + b[j]; m = out[j] > m || out[j] != out[j] ? out[j] : m; }
    for (int64_t j = 0; j < n; ++j) { out[j] = std::exp(out[j] - m); s += out[j]; }
    float k = (float)(1.0 / s);
    for (int64_t j = 0; j < n; ++j) out[j] *= k;
  }
}
"""


def forward(self, scores, bias):
    y = torch.empty_like(scores)
    one = bias[:1].contiguous()
    lib.run(scores, one.data_ptr(), y, scores.shape[0] * scores.shape[1], *scores.shape[2:])
    return y
