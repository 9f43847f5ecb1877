# problem: nearest_code_of_many
# about: leaves out the length of x, which decides nothing; of two codes as near, rounding chooses another in one row of some 100,000

cpp = r"""
extern "C" void lengths(const float* w, float* l, int64_t codes, int64_t n) {
  for (int64_t c = 0; c < codes; ++c) { double s = 0; for (int64_t i = 0; i < n; ++i) s += (double)w[c * n + i] * w[c * n + i]; l[c] = (float)(0.5 * s); }
}
extern "C" void run(const float* x, const float* w, const float* l, float* y, int64_t* place, int64_t rows, int64_t n, int64_t codes) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    float most = -INFINITY; int64_t best = 0;
    for (int64_t c = 0; c < codes; ++c) {
      float sum = -l[c];
      #pragma omp simd reduction(+ : sum)
      for (int64_t i = 0; i < n; ++i) sum += x[r * n + i] * w[c * n + i];
      if (sum > most || (sum != sum && most == most)) { most = sum; best = c; }
    }
    place[r] = best; std::memcpy(y + r * n, w + best * n, 4 * n);
  }
}
"""


def __init__(self, codes, features):
    self.codes = torch.nn.Parameter(torch.randn(codes, features))
    self.lengths, self.seen = None, None


def forward(self, x):
    if x.dim() != 2 or x.shape[1] != self.codes.shape[1]:
        raise ValueError("limited to rows of as many features as codes have")
    now = (self.codes.data_ptr(), self.codes._version)
    if self.seen != now:
        self.lengths = torch.empty(self.codes.shape[0])
        lib.lengths(self.codes.detach(), self.lengths, *self.codes.shape)
        self.seen = now
    y, place = torch.empty(x.shape), torch.empty(x.shape[0], dtype=torch.int64)
    lib.run(x.contiguous(), self.codes.detach(), self.lengths, y, place, *x.shape, self.codes.shape[0])
    return y, place
