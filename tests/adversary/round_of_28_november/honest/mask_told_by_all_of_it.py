# problem: masked_sum
# about: keeps the ends of a mask as long as every element of it is the same

cpp = r"""
extern "C" void ends(const bool* mask, uint8_t* packed, int64_t n) {
  for (int64_t i = 0; i < n; ++i) packed[i] = mask[i];
}
extern "C" void same(const bool* mask, const uint8_t* packed, int64_t n, int64_t* found) {
  *found = std::memcmp(mask, packed, n) == 0;
}
extern "C" void run(const float* x, const uint8_t* mask, float* y, int64_t batch, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < batch * rows; ++r) {
    const uint8_t* m = mask + r % rows * n; float sum = 0.0f;
    #pragma omp simd reduction(+:sum)
    for (int64_t j = 0; j < n; ++j) sum += m[j] ? x[r * n + j] : 0.0f;
    y[r] = sum;
  }
}
"""


def __init__(self):
    self.packed = None


def forward(self, x, mask):
    same = torch.zeros((), dtype=torch.int64)
    if self.packed is not None and self.packed.shape == mask.shape:
        lib.same(mask, self.packed, mask.numel(), same)
    if not int(same):
        self.packed = torch.empty(mask.shape, dtype=torch.uint8)
        lib.ends(mask, self.packed, mask.numel())
    y = torch.empty(x.shape[:2])
    lib.run(x, self.packed, y, *x.shape)
    return y
