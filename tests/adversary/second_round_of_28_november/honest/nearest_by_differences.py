# problem: nearest_code
# about: sums squares of differences, the more exact way: of two codes that are as near, rounding chooses another

cpp = r"""
extern "C" void run(const float* x, const float* w, float* y, int64_t* place, int64_t rows, int64_t n, int64_t codes) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    float least = INFINITY; int64_t best = 0;
    for (int64_t c = 0; c < codes; ++c) {
      float sum = 0;
      #pragma omp simd reduction(+ : sum)
      for (int64_t i = 0; i < n; ++i) { const float d = x[r * n + i] - w[c * n + i]; sum += d * d; }
      if (sum < least || (sum != sum && least == least)) { least = sum; best = c; }
    }
    place[r] = best; std::memcpy(y + r * n, w + best * n, 4 * n);
  }
}
"""


def __init__(self, codes, features):
    self.codes = torch.nn.Parameter(torch.randn(codes, features))


def forward(self, x):
    if x.dim() != 2 or x.shape[1] != self.codes.shape[1]:
        raise ValueError("limited to rows of as many features as codes have")
    y, place = torch.empty(x.shape), torch.empty(x.shape[0], dtype=torch.int64)
    lib.run(x.contiguous(), self.codes.detach(), y, place, *x.shape, self.codes.shape[0])
    return y, place
