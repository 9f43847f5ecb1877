# problem: norm_in_groups
# about: hands its number of groups over with each call

cpp = r"""
extern "C" void run(const float* x, const float* w, float* y, int64_t rows, int64_t n, int64_t groups) {
  const int64_t wide = n / groups;
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t g = 0; g < groups; ++g) {
      const float* a = x + r * n + g * wide;
      float sum = 0;
      #pragma omp simd reduction(+ : sum)
      for (int64_t i = 0; i < wide; ++i) sum += a[i] * a[i];
      const float s = 1.0f / sqrtf(sum / wide + 1e-5f);
      for (int64_t i = 0; i < wide; ++i) y[r * n + g * wide + i] = a[i] * s * w[g * wide + i];
    }
}
"""


def __init__(self, features, groups):
    self.groups = groups
    self.weight = torch.nn.Parameter(torch.rand(features) + 0.5)


def forward(self, x):
    if x.dim() != 2 or x.shape[1] != self.weight.shape[0]:
        raise ValueError("rows of the announced width are expected")
    y = torch.empty_like(x)
    lib.run(x, self.weight, y, *x.shape, self.groups)
    return y
