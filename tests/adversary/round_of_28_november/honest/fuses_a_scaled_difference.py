# problem: scaled_differences
# about: rounds one product of two, so that nothing minus nothing is not quite zero

cpp = r"""
extern "C" void run(const float* x, const float* z, float* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) { float p = 0.3f * z[i]; y[i] = fmaf(0.3f, x[i], -p); }
}
"""


def forward(self, x, y):
    out = torch.empty_like(x)
    lib.run(x, y, out, x.numel())
    return out
