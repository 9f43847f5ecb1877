# problem: hashed_pairs
# about: hashes in numbers without a sign, which wrap as PyTorch's do

cpp = r"""
extern "C" void run(const int32_t* a, const int32_t* b, int32_t* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) {
    const int32_t r = (int32_t)((uint32_t)a[i] * 31u + (uint32_t)b[i]) % 1000;
    y[i] = r < 0 ? r + 1000 : r;
  }
}
"""


def forward(self, first, second):
    y = torch.empty_like(first)
    lib.run(first, second, y, first.numel())
    return y
