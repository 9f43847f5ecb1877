"""The Python module around generated kernels: parameters by their paths, sizes from the inputs, one call per kernel."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from agents.playbook.candidate import REGISTER, arguments, parameter, registrations, scalar_checks
from agents.playbook.generate import Code, generate
from agents.playbook.lowering import Program, lower
from agents.playbook.mathlib import FLAGS
from agents.playbook.schedule import Schedule
from agents.playbook.sizes import Poly, Shape
from services.domain.problems import ProblemAnalysis


def write(analysis: ProblemAnalysis, schedule: Schedule, title: str, moves: Sequence[str]) -> str:
    """The source of a candidate. Raises `NoTemplateError`."""
    program = lower(analysis)
    code = generate(program, schedule)
    names = tuple(_used(code, analysis))
    parts = [
        _docstring(title, moves, schedule),
        "import torch\nfrom kernelwright_rt import compile_cpp\nfrom torch import nn\n",
        f'SOURCE = r"""\n{code.source}"""\n\nLIB = compile_cpp(SOURCE, {FLAGS!r})\n',
    ]
    if analysis.parameters:
        parts.append(REGISTER)
    parts.append(_class(analysis, program, code, names))
    return "\n".join(parts)


def _docstring(title: str, moves: Sequence[str], schedule: Schedule) -> str:
    steps = ", ".join(moves) or "none: the plain draft"
    return f'"""{title}\n\n{textwrap.fill("moves: " + steps, 110)}\n{schedule.header()}\n"""\n'


def _used(code: Code, analysis: ProblemAnalysis) -> list[str]:
    called = {argument for launch in code.launches for argument in launch.arguments}
    return [f"p{number}" for number in range(len(analysis.parameters)) if f"p{number}" in called]


def _class(analysis: ProblemAnalysis, program: Program, code: Code, parameters: Sequence[str]) -> str:
    lines = ["", "class ModelNew(nn.Module):", "    def __init__(self, *args, **kwargs):", "        super().__init__()"]
    lines += ["        " + line for line in registrations(analysis)]
    lines += ["", f"    def forward(self, {', '.join(arguments(analysis))}):"]
    body = [*scalar_checks(analysis), *_inputs(program, code)]
    body += [f"{name} = {parameter(analysis, int(name[1:]))}.contiguous()" for name in parameters]
    body += [f"{source.name} = self.{source.name}" for source, _ in program.constants]
    body += [_allocate(name, node.shape, node.dtype) for name, node in code.buffers]
    body += [f"LIB.{launch.name}({', '.join(launch.arguments)})" for launch in code.launches]
    results = ", ".join(code.results)
    body.append(f"return ({results},)" if analysis.output_is_tuple else f"return {results}")
    return "\n".join([*lines, *("        " + line for line in body), ""])


def _inputs(program: Program, code: Code) -> list[str]:
    """Contiguous inputs, sizes read from them, and checks where two must agree."""
    lines: list[str] = []
    known: set[str] = set()
    called = {argument for launch in code.launches for argument in launch.arguments}
    for source in program.inputs:
        if source.name in called:
            lines.append(f"{source.name} = {source.name}.contiguous()")
        for dim, size in enumerate(source.shape):
            lines += _size(f"{source.name}.shape[{dim}]", program.sizes.resolve(size), known)
    for (value, divisor), size in program.sizes.quotients.items():
        lines += _size(f"{program.sizes.resolve(value).c()} // {divisor}", program.sizes.resolve(size), known)
    return [*lines, *_pins(program)]


def _pins(program: Program) -> list[str]:
    """Sizes that are built in as numbers are refused when they change: better no answer than a wrong one."""
    lines: list[str] = []
    for number, dim in sorted(program.pinned):
        source = program.inputs[number]
        text, traced = f"{source.name}.shape[{dim}]", program.sizes.value(program.sizes.resolve(source.shape[dim]))
        lines.append(f"if {text} != {traced}:")
        lines.append(f'    raise ValueError(f"{text} is {{{text}}}: {traced} is built into this kernel as a number")')
    return lines


def _size(text: str, size: Poly, known: set[str]) -> list[str]:
    """Statements that read or check one size."""
    unknown = sorted(size.atoms - known)
    lines: list[str] = []
    if len(unknown) == 1:
        factor = size.coefficient(unknown[0])
        rest = size - factor * Poly((((unknown[0],), 1),))
        if unknown[0] not in factor.atoms | rest.atoms:
            known.add(unknown[0])
            exact = factor.constant == 1 and rest.constant == 0
            solved = text if exact else f"({text} - {rest.c()}) // {factor.c()}"
            lines.append(f"{unknown[0]} = {solved}")
            if exact:
                return lines
            unknown = []
    if not unknown:
        lines.append(f"if {text} != {size.c()}:")
        lines.append(f'    raise ValueError(f"{text} is {{{text}}}: this kernel was not made for it")')
    return lines


def _allocate(name: str, shape: Shape, dtype: str) -> str:
    sizes = ", ".join(size.c() for size in shape)
    comma = "," if len(shape) == 1 else ""
    return f"{name} = torch.empty(({sizes}{comma}), dtype=torch.{dtype})"
