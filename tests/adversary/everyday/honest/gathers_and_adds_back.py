# problem: gathered_and_added
# about: gathers in each row and adds to where it came from

cpp = r"""
extern "C" void run(const float* x, const int64_t* at, float* y, float* z, int64_t rows, int64_t n, int64_t k) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    std::memset(z + r * n, 0, 4 * n);
    for (int64_t j = 0; j < k; ++j) { int64_t c = at[r * k + j]; float v = x[r * n + c]; y[r * k + j] = v; z[r * n + c] += 0.5f * v; }
  }
}
"""


def forward(self, x, index):
    if index.shape[0] != x.shape[0]:
        raise ValueError("one row of indices for each row is expected")
    x, index = x.contiguous(), index.contiguous()
    y, z = torch.empty(index.shape), torch.empty_like(x)
    lib.run(x, index, y, z, *x.shape, index.shape[1])
    return y, z
