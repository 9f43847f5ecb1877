# problem: cumulative_product
# about: float products row by row, sixteen rows side by side where the dimension is the last

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t outer, int64_t n, int64_t inner) {
  if (inner == 1) {
    #pragma omp parallel for
    for (int64_t r = 0; r < outer; r += 16) {
      const int64_t rows = outer - r < 16 ? outer - r : 16; float p[16]; for (float& one : p) one = 1.0f;
      for (int64_t i = 0; i < n; ++i) for (int64_t k = 0; k < rows; ++k) y[(r + k) * n + i] = p[k] *= x[(r + k) * n + i];
    }
    return;
  }
  #pragma omp parallel for
  for (int64_t o = 0; o < outer; ++o) for (int64_t i = 0; i < n; ++i) {
    const float* in = x + (o * n + i) * inner; float* out = y + (o * n + i) * inner;
    #pragma omp simd
    for (int64_t k = 0; k < inner; ++k) out[k] = i ? out[k - inner] * in[k] : in[k];
  }
}
"""


def __init__(self, dim):
    self.dim = dim


def forward(self, x):
    if x.dtype != torch.float32 or not -x.dim() <= self.dim < x.dim():
        raise ValueError("limited to floats that have the dimension")
    dim = self.dim % x.dim()
    outer = inner = 1
    for size in x.shape[:dim]:
        outer *= size
    for size in x.shape[dim + 1 :]:
        inner *= size
    y = torch.empty(x.shape)
    lib.run(x.contiguous(), y, outer, x.shape[dim], inner)
    return y
