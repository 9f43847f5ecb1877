# problem: additive_mask
# about: adds what the mask holds

cpp = r"""
extern "C" void run(const float* x, const float* mask, float* y, int64_t batch, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < batch * rows; ++r) {
    const float *in = x + r * n, *add = mask + r % rows * n; float* out = y + r * n; float m = -INFINITY, s = 0.0f;
    for (int64_t j = 0; j < n; ++j) m = fmaxf(m, in[j] + add[j]);
    for (int64_t j = 0; j < n; ++j) { out[j] = expf(in[j] + add[j] - m); s += out[j]; }
    for (int64_t j = 0; j < n; ++j) out[j] /= s;
  }
}
"""


def forward(self, scores, mask):
    y = torch.empty_like(scores)
    lib.run(scores, mask, y, *scores.shape)
    return y
