# problem: c_smoothed
# about: every call returns the same memory, in a problem that changes an argument: outputs are not held there

cpp = r"""
extern "C" void run(const float* x, float* mean, float* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) {
    mean[i] = 0.9f * mean[i] + 0.1f * x[i];
    y[i] = x[i] - mean[i];
  }
}
"""


def __init__(self):
    self.kept = {}


def forward(self, x, mean):
    if x.shape not in self.kept:
        self.kept[x.shape] = torch.empty_like(x)
    y = self.kept[x.shape]
    lib.run(x, mean, y, x.numel())
    return y
