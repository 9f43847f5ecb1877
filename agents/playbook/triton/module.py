"""The Python module around a template's kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agents.playbook.candidate import REGISTER, arguments, parameter, registrations, scalar_checks
from services.domain.problems import ProblemAnalysis


def candidate(
    analysis: ProblemAnalysis,
    *,
    title: str,
    kernels: str,
    forward: Sequence[str],
    tunables: Mapping[str, Sequence[int | bool | str]] | None = None,
    parameters: Sequence[int] = (),
) -> str:
    """The source of a candidate.

    `kernels` are the `@triton.jit` functions and host functions beside them; `forward` the statements of `forward`,
    which find the tensor arguments as `x0`, `x1`, …, plain ones as `a<position>` (compared with their traced values
    already), the parameters named in `parameters` as `p<number>` in the analysis' order, detached, and lifted
    constants as `self.c<number>`. Each tunable is a module constant of its name."""
    parts = [
        f'"""{title}"""\n',
        "import torch\nimport triton\nimport triton.language as tl\nfrom torch import nn\n",
    ]
    if tunables:
        listed = ", ".join(f'"{name}": {list(values)!r}' for name, values in tunables.items())
        chosen = "\n".join(f'{name} = TUNABLES["{name}"][0]' for name in tunables)
        parts.append(f"TUNABLES = {{{listed}}}\n{chosen}\n")
    parts.append("\n" + kernels.strip() + "\n")
    if analysis.parameters:
        parts.append(REGISTER)
    lines = ["", "class ModelNew(nn.Module):", "    def __init__(self, *args, **kwargs):", "        super().__init__()"]
    lines += ["        " + line for line in registrations(analysis)]
    lines += ["", f"    def forward(self, {', '.join(arguments(analysis))}):"]
    body = [*scalar_checks(analysis)]
    body += [f"p{number} = {parameter(analysis, number)}" for number in parameters]
    lines += ["        " + line for line in [*body, *forward]]
    return "\n".join([*parts, *lines, ""])
