# problem: probabilities
# about: t*log(p) + (1-t)*log(1-p) without a bound: NaN where a probability is exactly one or zero

cpp = r"""
extern "C" void run(const float* p, const float* t, float* y, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) y[i] = -(t[i] * logf(p[i]) + (1.0f - t[i]) * log1pf(-p[i]));
}
"""


def forward(self, p, target):
    y = torch.empty_like(p)
    lib.run(p, target, y, p.numel())
    return y
