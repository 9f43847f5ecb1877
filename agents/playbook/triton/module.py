"""The source of a candidate: kernels' texts with places to fill in, and the Python module around them."""

from __future__ import annotations

import re
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


def filled(text: str, **places: Sequence[str] | str) -> str:
    """A text with each `<<name>>` replaced: by a string where it stands in a line, by lines at its indentation where it
    is alone in one. Raises `KeyError` for a place that is not given."""
    lines: list[str] = []
    for line in text.splitlines():
        alone = re.fullmatch(r"( *)<<(\w+)>>", line)
        if alone is not None:
            given = places[alone.group(2)]
            lines += [alone.group(1) + item for item in ([given] if isinstance(given, str) else given)]
        else:
            lines.append(re.sub(r"<<(\w+)>>", lambda found: str(places[found.group(1)]), line))
    return "\n".join(lines)


def settled(names: str) -> str:
    """The statements that take a `TILE` such as `128,64,32,8,3,tf32x3` apart into module constants, in their order:
    sizes that only make sense together are searched together."""
    return f'''def chosen(text):
    """The numbers of a setting, and its words as they are."""
    return [int(part) if part.isdigit() else part for part in text.split(",")]


{names} = chosen(TILE)'''
