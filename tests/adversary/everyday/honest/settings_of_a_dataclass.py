# problem: silu
# about: writes its kernel by the fields of a dataclass, and passes a `float` and an `int32_t` to it
import dataclasses

import kernelwright_rt
import torch


@dataclasses.dataclass(frozen=True)
class Plan:
    parts: int = 64
    lanes: int = 8


PLAN = Plan()
SETTINGS = "".join(f"constexpr int64_t {one.name} = {getattr(PLAN, one.name)};\n" for one in dataclasses.fields(PLAN))
lib = kernelwright_rt.compile_cpp("#include <cmath>\n#include <cstdint>\n" + SETTINGS + r"""
extern "C" void run(const float* x, float* y, int64_t n, float one, int32_t negate) {
  #pragma omp parallel for
  for (int64_t b = 0; b < parts; ++b)
    for (int64_t i = n * b / parts; i < n * (b + 1) / parts; ++i)
      y[i] = x[i] / (one + std::exp(negate ? -x[i] : x[i]));
}
""")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        lib.run(x, y, x.numel(), 1.0, 1)
        return y
