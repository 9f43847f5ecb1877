"""The Python module around generated kernels: parameters by their paths, sizes from the inputs, one call per kernel."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from agents.playbook.candidate import REGISTER, arguments, parameter, registrations, scalar_checks
from agents.playbook.generate import Code, generate
from agents.playbook.lowering import Program, lowered
from agents.playbook.mathlib import FLAGS
from agents.playbook.schedule import Schedule
from agents.playbook.sizes import Poly, Shape
from services.domain.problems import ProblemAnalysis


def write(analysis: ProblemAnalysis, schedule: Schedule, title: str, moves: Sequence[str]) -> str:
    """The source of a candidate. Raises `NoTemplateError`."""
    programs = lowered(analysis)
    source, codes = generate(programs, schedule)
    parts = [
        _docstring(title, moves, schedule),
        "import torch\nfrom kernelwright_rt import compile_cpp\nfrom torch import nn\n",
        f'SOURCE = r"""\n{source}"""\n\nLIB = compile_cpp(SOURCE, {FLAGS!r})\n',
    ]
    if analysis.parameters:
        parts.append(REGISTER)
    parts.append(_class(analysis, programs, codes))
    return "\n".join(parts)


def _docstring(title: str, moves: Sequence[str], schedule: Schedule) -> str:
    steps = ", ".join(moves) or "none: the plain draft"
    return f'"""{title}\n\n{textwrap.fill("moves: " + steps, 110)}\n{schedule.header()}\n"""\n'


def _used(code: Code, analysis: ProblemAnalysis) -> list[str]:
    called = {argument for launch in code.launches for argument in launch.arguments}
    return [f"p{number}" for number in range(len(analysis.parameters)) if f"p{number}" in called]


def _class(analysis: ProblemAnalysis, programs: Sequence[Program], codes: Sequence[Code]) -> str:
    lines = ["", "class ModelNew(nn.Module):", "    def __init__(self, *args, **kwargs):", "        super().__init__()"]
    lines += ["        " + line for line in registrations(analysis)]
    forms = (analysis, *analysis.other_forms)
    names = [f"forward_{number}" for number in range(len(forms))] if len(forms) > 1 else ["forward"]
    constants = 0
    for name, form, program, code in zip(names, forms, programs, codes, strict=True):
        lines += ["", f"    def {name}(self, {', '.join(arguments(form))}):"]
        lines += ["        " + line for line in _body(form, program, code, constants)]
        constants += len(program.constants)
    if len(forms) > 1:
        lines += ["", "    def forward(self, *given):"]
        lines += [
            "        " + line for line in _choice(dict(zip(names, zip(forms, programs, strict=True), strict=True)))
        ]
    return "\n".join([*lines, ""])


def _body(analysis: ProblemAnalysis, program: Program, code: Code, constants: int) -> list[str]:
    """Statements of a form's call; `constants` of other forms lie before its own."""
    body = [*scalar_checks(analysis), *_inputs(program, code)]
    body += [f"{name} = {parameter(analysis, int(name[1:]))}.contiguous()" for name in _used(code, analysis)]
    body += [f"{source.name} = self.c{constants + n}" for n, (source, _) in enumerate(program.constants)]
    body += [_allocate(name, node.shape, node.dtype) for name, node in code.buffers]
    body += [f"LIB.{launch.name}({', '.join(launch.arguments)})" for launch in code.launches]
    results = ", ".join(code.results)
    return [*body, f"return ({results},)" if analysis.output_is_tuple else f"return {results}"]


def _choice(forms: Mapping[str, tuple[ProblemAnalysis, Program]]) -> list[str]:
    """Statements that call the form which arguments have: the one that asks most of them."""
    conditions = {name: _conditions(*form) for name, form in forms.items()}
    lines: list[str] = []
    for name in sorted(conditions, key=lambda one: -len(conditions[one])):
        lines += [f"if {' and '.join(conditions[name])}:", f"    return self.{name}(*given)"]
    return [*lines, 'raise ValueError("this kernel was not made for arguments of such ranks, dtypes or plain values")']


def _conditions(analysis: ProblemAnalysis, program: Program) -> list[str]:
    plain, tensor = dict(analysis.scalar_inputs), 0
    found = [f"len(given) == {len(plain) + len(program.inputs)}"]
    for position in range(len(plain) + len(program.inputs)):
        text = f"given[{position}]"
        if position in plain:
            found.append(f"not isinstance({text}, torch.Tensor) and {text} == {plain[position]!r}")
            continue
        source, spec = program.inputs[tensor], analysis.inputs[tensor]
        found.append(f"isinstance({text}, torch.Tensor) and {text}.dtype is torch.{source.dtype}")
        found.append(f"{text}.dim() == {len(spec.shape)}")
        fixed = {dim for number, dim in program.pinned if number == tensor}
        found += [f"{text}.shape[{dim}] == {n}" for dim, n in enumerate(spec.shape) if n == 1 or dim in fixed]
        tensor += 1
    return found


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
        whole, part = program.sizes.resolve(value), program.sizes.resolve(size)
        if whole != part * divisor:  # else that is how the part was read from an input's size
            lines += _size(f"{whole.c()} // {divisor}", part, known)
    for pair in program.sizes.equal:
        left, right = map(program.sizes.resolve, pair)
        if left != right:
            lines += _size(left.c(), right, known)
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
    reason = "this kernel was not made for it"
    if len(unknown) == 1:
        factor = size.coefficient(unknown[0])
        rest = size - factor * Poly((((unknown[0],), 1),))
        if unknown[0] not in factor.atoms | rest.atoms:
            known.add(unknown[0])
            exact = factor.constant == 1 and rest.constant == 0
            whole = text if rest.constant == 0 else f"({text} - {rest.c()})"
            solved = text if exact else f"{whole} // {factor.c()}"
            lines.append(f"{unknown[0]} = {solved}")
            if exact:
                return lines
            unknown = []
            if factor.constant is not None and rest.constant == 0:
                reason = f"this kernel takes multiples of {factor.constant}"
    if not unknown:
        lines.append(f"if {text} != {size.c()}:")
        lines.append(f'    raise ValueError(f"{text} is {{{text}}}: {reason}")')
    return lines


def _allocate(name: str, shape: Shape, dtype: str) -> str:
    sizes = ", ".join(size.c() for size in shape)
    comma = "," if len(shape) == 1 else ""
    return f"{name} = torch.empty(({sizes}{comma}), dtype=torch.{dtype})"
