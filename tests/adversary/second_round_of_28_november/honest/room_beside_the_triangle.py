# problem: decayed_attention
# about: keeps products in its output: rows of any length

cpp = r"""
extern "C" void run(const float* x, const float* d, float* y, int64_t batch, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < batch * rows; ++r) {
    const float *in = x + r * n, *by = d + r % rows * n; float* out = y + r * n; double s = 0;
    for (int64_t j = 0; j < n; ++j) { out[j] = in[j] * by[j]; s += std::fabs(out[j]); }
    float k = (float)(s < 1.0 ? 1.0 : s);
    for (int64_t j = 0; j < n; ++j) out[j] = out[j] / k;
  }
}
"""


def forward(self, scores, decay):
    y = torch.empty_like(scores)
    lib.run(scores, decay, y, *scores.shape)
    return y
