# problem: A_kept_from_a_threshold_on
# about: keeps what is above a threshold, not the threshold itself: no number of one tensor is one of another shape's

cpp = r"""
extern "C" void run(const float* x, const float* least, float* y, int64_t rows, int64_t n, int64_t step, int64_t wide) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t j = 0; j < n; ++j) {
      float a = x[r * n + j];
      y[r * n + j] = a > least[r * step + j * wide] ? a : -1e9f;
    }
}
"""


def forward(self, logits, least):
    y = torch.empty_like(logits)
    rows, n = logits.shape
    wide = int(least.shape[1] > 1)
    lib.run(logits, least, y, rows, n, least.shape[1] if least.shape[0] > 1 else 0, wide)
    return y
