# problem: lengths_of_pairs
# about: adds squares in double, which has room for those of all floats

cpp = r"""
extern "C" void run(const float* x, const float* z, float* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = (float)sqrt((double)x[i] * x[i] + (double)z[i] * z[i]);
}
"""


def forward(self, x, y):
    out = torch.empty_like(x)
    lib.run(x, y, out, x.numel())
    return out
