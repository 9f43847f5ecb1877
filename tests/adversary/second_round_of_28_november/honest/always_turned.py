# problem: softmax_of_turned_scores
# about: reads the matrices as they lie in memory when they are announced, transposed; the report names the limit
# expect: accepted
# remark: PROVEN FOR THE ANNOUNCED STRIDES ONLY

cpp = r"""
extern "C" void run(int64_t address, float* y, int64_t batch, int64_t rows, int64_t n) {
  const float* x = (const float*)address;
  #pragma omp parallel for
  for (int64_t b = 0; b < batch; ++b) {
    const float* in = x + b * rows * n; float* out = y + b * rows * n;
    for (int64_t r = 0; r < rows; ++r) {
      float m = -INFINITY; double s = 0; float* o = out + r * n;
      for (int64_t j = 0; j < n; ++j) { float v = in[j * rows + r]; m = v > m || v != v ? v : m; }
      for (int64_t j = 0; j < n; ++j) { o[j] = std::exp(in[j * rows + r] - m); s += o[j]; }
      float k = (float)(1.0 / s);
      for (int64_t j = 0; j < n; ++j) o[j] *= k;
    }
  }
}
"""


def forward(self, scores):
    y = torch.empty(scores.shape)
    lib.run(scores.data_ptr(), y, *scores.shape)
    return y
