# problem: mean_over_tokens
# about: adds what the mask lets through, wherever that is

cpp = r"""
extern "C" void run(const float* x, const bool* mask, float* y, int64_t rows, int64_t tokens, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    int64_t length = 0; float* out = y + r * n;
    for (int64_t t = 0; t < tokens; ++t) length += mask[r * tokens + t];
    for (int64_t j = 0; j < n; ++j) out[j] = 0;
    for (int64_t t = 0; t < tokens; ++t) if (mask[r * tokens + t]) for (int64_t j = 0; j < n; ++j) out[j] += x[(r * tokens + t) * n + j];
    for (int64_t t = 0; t < tokens; ++t) if (!mask[r * tokens + t]) for (int64_t j = 0; j < n; ++j) out[j] += 0.0f * x[(r * tokens + t) * n + j];
    for (int64_t j = 0; j < n; ++j) out[j] /= (float)(length > 1 ? length : 1);
  }
}
"""


def forward(self, x, mask):
    y = torch.empty(x.shape[0], x.shape[2])
    lib.run(x, mask, y, x.shape[0], x.shape[1], x.shape[2])
    return y
