# problem: cross_entropy_of_shares
# about: holds logarithms above -100, and sums in parts

cpp = r"""
static inline float held(float l) { return l > -100.0f ? l : -100.0f; }
extern "C" void run(const float* p, const float* t, float* y, int64_t n) {
  double s = 0.0;
  #pragma omp parallel for reduction(+:s)
  for (int64_t i = 0; i < n; ++i) s -= t[i] * held(logf(p[i])) + (1.0f - t[i]) * held(log1pf(-p[i]));
  *y = (float)(s / n);
}
"""


def forward(self, p, t):
    y = torch.empty(())
    lib.run(p, t, y, p.numel())
    return y
