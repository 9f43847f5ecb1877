# problem: product
# imports: collections, functools, kernelwright_rt, torch
# about: its own kernel, class and field have the names of operators

cpp = r"""
#include <cstdint>
extern "C" void mm(const float* a, const float* b, float* c, int64_t n, int64_t k, int64_t m) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < m; ++j) c[i * m + j] = 0.0f;
    for (int64_t l = 0; l < k; ++l)
      for (int64_t j = 0; j < m; ++j) c[i * m + j] += a[i * k + l] * b[l * m + j];
  }
}
"""

Plan = collections.namedtuple("Plan", "inner outer")


class Engine:
    def __init__(own, kernel):
        own.kernel = kernel

    def dot(own, a, b, c, plan):
        functools.partial(own.kernel, a, b, c)(plan.outer, plan.inner, b.shape[1])


def __init__(self):
    self.engine = Engine(lib.mm)


def forward(self, a, b):
    c = torch.empty(a.shape[0], b.shape[1])
    plan = Plan(inner=a.shape[1], outer=a.shape[0])
    self.engine.dot(a, b, c, plan)
    return c
