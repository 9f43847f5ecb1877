# problem: weighted_by_mask
# about: multiplies by its weights

cpp = r"""
extern "C" void run(const float* x, const float* m, float* y, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) y[i] = m[i] * tanhf(x[i]);
}
"""


def forward(self, x, mask):
    y = torch.empty_like(x)
    lib.run(x, mask, y, x.numel())
    return y
