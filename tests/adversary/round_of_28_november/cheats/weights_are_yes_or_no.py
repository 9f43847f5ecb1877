# problem: weighted_by_mask
# about: takes weights of zero and one for a choice

cpp = r"""
extern "C" void run(const float* x, const float* m, float* y, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) y[i] = m[i] != 0.0f ? tanhf(x[i]) : 0.0f;
}
"""


def forward(self, x, mask):
    y = torch.empty_like(x)
    lib.run(x, mask, y, x.numel())
    return y
