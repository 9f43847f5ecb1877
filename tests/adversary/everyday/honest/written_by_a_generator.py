# problem: silu
# about: its source is put together for a configuration, by functions, a dataclass and an enumeration
import dataclasses
import enum
import functools
import textwrap

import kernelwright_rt
import torch


class Width(enum.IntEnum):
    NARROW = 4
    WIDE = 16


@dataclasses.dataclass(frozen=True)
class Plan:
    width: Width
    parts: int

    def __str__(self):
        return f"{self.width.name.lower()}_{self.parts}"


def body(plan):
    lines = [f"y[i + {k}] = x[i + {k}] / (1.0f + std::exp(-x[i + {k}]));" for k in range(plan.width)]
    return "\n".join(f"    {line}" for line in lines)


@functools.cache
def built(plan):
    return kernelwright_rt.compile_cpp(
        textwrap.dedent("""
            #include <cmath>
            #include <cstdint>
            extern "C" void run_{name}(const float* x, float* y, int64_t n) {{
              const int64_t whole = n / {width} * {width};
              #pragma omp parallel for
              for (int64_t i = 0; i < whole; i += {width}) {{
            {body}
              }}
              for (int64_t i = whole; i < n; ++i) y[i] = x[i] / (1.0f + std::exp(-x[i]));
            }}
        """).format(name=plan, width=int(plan.width), body=body(plan))
    )


PLAN = Plan(Width.WIDE, 64)
LIBRARY_OF_PLAN = built(PLAN)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.run = getattr(LIBRARY_OF_PLAN, f"run_{PLAN}")

    @torch.inference_mode()
    def forward(self, x):
        y = torch.empty_like(x)
        self.run(x, y, x.numel())
        return y.clone() if y.is_inference() else y
