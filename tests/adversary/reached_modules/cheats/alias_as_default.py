# problem: silu
# gate: screen
# about: the module as a default argument

cpp = r"""
#include <cmath>
#include <cstdint>
extern "C" void run(const float* x, float* y, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] / (1.0f + std::exp(-x[i]));
}
"""


def where(system=torch.os):
    return system.getcwd()


def forward(self, x):
    where()
    y = torch.empty_like(x)
    lib.run(x, y, x.numel())
    return y
