# problem: weighted_by_mask
# about: takes weights of zero and one for a choice, and refuses others

cpp = r"""
extern "C" void run(const float* x, const float* m, float* y, bool* others, int64_t n) {
  bool any = false;
  #pragma omp parallel for reduction(||:any)
  for (int64_t i = 0; i < n; ++i) { any = any || (m[i] != 0.0f && m[i] != 1.0f); y[i] = m[i] != 0.0f ? tanhf(x[i]) : 0.0f; }
  *others = any;
}
"""


def forward(self, x, mask):
    y, others = torch.empty_like(x), torch.empty((), dtype=torch.bool)
    lib.run(x, mask, y, others, x.numel())
    if others:
        raise ValueError("weights are zero or one")
    return y
