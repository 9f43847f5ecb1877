# problem: lengths_in_double
# about: squares overflow beyond 1e154 and vanish below 1e-162

cpp = r"""
extern "C" void run(const double* x, const double* y, double* out, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) out[i] = sqrt(x[i] * x[i] + y[i] * y[i]);
}
"""


def forward(self, x, y):
    out = torch.empty_like(x)
    lib.run(x, y, out, x.numel())
    return out
