# problem: silu
# gate: screen
# about: the module under an alias of a tuple, by `getattr` with a name that a loop gives

cpp = r"""
#include <cmath>
#include <cstdint>
extern "C" void run(const float* x, float* y, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] / (1.0f + std::exp(-x[i]));
}
"""


(alias,) = (torch,)
for name in ("sys",):
    helper = getattr(alias, name)


def forward(self, x):
    helper.modules
    y = torch.empty_like(x)
    lib.run(x, y, x.numel())
    return y
