# problem: scores_and_bias
# about: keeps a table, and returns a copy of it

cpp = r"""
extern "C" void fill(float* bias, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) bias[i * n + j] = -fabsf((float)(i - j));
}
extern "C" void run(const float* q, const float* k, const float* bias, float* s, int64_t b, int64_t n, int64_t d) {
  const float scale = 1.0f / sqrtf((float)d);
  #pragma omp parallel for collapse(2)
  for (int64_t h = 0; h < b; ++h)
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) {
        float sum = 0;
        #pragma omp simd reduction(+ : sum)
        for (int64_t c = 0; c < d; ++c) sum += q[(h * n + i) * d + c] * k[(h * n + j) * d + c];
        s[(h * n + i) * n + j] = sum * scale + bias[i * n + j];
      }
}
"""


def __init__(self):
    self.size, self.bias = -1, None


def forward(self, q, k):
    if q.shape != k.shape or q.dim() != 3:
        raise ValueError("queries and keys of one shape are expected")
    b, n, d = q.shape
    if self.size != n:
        self.size, self.bias = n, torch.empty(n, n)
        lib.fill(self.bias, n)
    s = torch.empty(b, n, n)
    lib.run(q, k, self.bias, s, b, n, d)
    return s, self.bias.clone()
