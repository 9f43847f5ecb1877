# problem: lengths_of_pairs
# about: adds squares, which are infinite from 1e20 on and zero below 1e-23

cpp = r"""
extern "C" void run(const float* x, const float* z, float* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = sqrtf(x[i] * x[i] + z[i] * z[i]);
}
"""


def forward(self, x, y):
    out = torch.empty_like(x)
    lib.run(x, y, out, x.numel())
    return out
