# problem: cache_in_place
# about: makes the reference’s change in place

cpp = r"""
extern "C" void run(const float* x, float* cache, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < rows * n; ++i) { float v = 0.5f * cache[i] + x[i]; cache[i] = v; y[i] = v > 0 ? v : 0; }
}
"""


def forward(self, x, cache):
    y = torch.empty_like(x)
    lib.run(x, cache, y, x.shape[0], x.shape[1])
    return y
