# problem: cross_entropy_of_shares
# about: holds probabilities within 1e-12 of zero and one, where PyTorch holds logarithms above -100

cpp = r"""
extern "C" double run(const float* p, const float* t, int64_t n) {
  double s = 0.0;
  #pragma omp parallel for reduction(+:s)
  for (int64_t i = 0; i < n; ++i) {
    double q = p[i];
    q = q < 1e-12 ? 1e-12 : q > 1.0 - 1e-12 ? 1.0 - 1e-12 : q;
    s -= t[i] * logf((float)q) + (1.0f - t[i]) * log1p(-q);
  }
  return s / n;
}
extern "C" void store(const float* p, const float* t, float* y, int64_t n) { *y = (float)run(p, t, n); }
"""


def forward(self, p, t):
    y = torch.empty(())
    lib.store(p, t, y, p.numel())
    return y
