# problem: plain_row_sums
# about: a sum of rows cloned for three kinds of processors

cpp = r"""
__attribute__((target_clones("default", "avx2", "avx512f"))) static float sum(const float* x, int64_t n) {
  float s[16] = {}; int64_t i = 0;
  for (; i + 16 <= n; i += 16) for (int l = 0; l < 16; ++l) s[l] += x[i + l];
  float total = 0;
  for (int l = 0; l < 16; ++l) total += s[l];
  for (; i < n; ++i) total += x[i];
  return total;
}
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for schedule(dynamic, 16)
  for (int64_t r = 0; r < rows; ++r) y[r] = sum(x + r * n, n);
}
"""


def forward(self, x):
    x = x.contiguous()
    y = torch.empty(x.shape[0])
    lib.run(x, y, *x.shape)
    return y
