# problem: likeliest_word
# about: four rows at a time past each word; keeps the maximum only

cpp = r"""
extern "C" void run(const float* x, const float* w, int64_t* y, int64_t rows, int64_t n, int64_t words) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; r += 4) {
    const int64_t own = rows - r < 4 ? rows - r : 4; const float* in[4]; float most[4]; int64_t best[4] = {};
    for (int k = 0; k < 4; ++k) { in[k] = x + (k < own ? r + k : r) * n; most[k] = -INFINITY; }
    for (int64_t c = 0; c < words; ++c) {
      const float* row = w + c * n; float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
      #pragma omp simd reduction(+ : s0, s1, s2, s3)
      for (int64_t i = 0; i < n; ++i) { s0 += in[0][i] * row[i]; s1 += in[1][i] * row[i]; s2 += in[2][i] * row[i]; s3 += in[3][i] * row[i]; }
      const float s[4] = {s0, s1, s2, s3};
      for (int k = 0; k < 4; ++k) if (s[k] > most[k] || (s[k] != s[k] && most[k] == most[k])) { most[k] = s[k]; best[k] = c; }
    }
    for (int64_t k = 0; k < own; ++k) y[r + k] = best[k];
  }
}
"""


def __init__(self, features, words):
    self.head = torch.nn.Linear(features, words, bias=False)


def forward(self, x):
    if x.dim() != 2 or x.shape[1] != self.head.in_features or self.head.out_features < 1 or x.dtype != torch.float32:
        raise ValueError("limited to float matrices")
    y = torch.empty(x.shape[0], dtype=torch.int64)
    lib.run(x.contiguous(), self.head.weight.detach(), y, *x.shape, self.head.out_features)
    return y
