"""The Python module around generated kernels: parameters by their paths, sizes from the inputs, one call per kernel."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from agents.playbook.errors import NoTemplateError
from agents.playbook.generate import Code, generate
from agents.playbook.lowering import Program, lower
from agents.playbook.mathlib import FLAGS
from agents.playbook.schedule import Schedule
from agents.playbook.sizes import Poly, Shape
from services.domain.problems import ProblemAnalysis, TensorSpec

REGISTER = '''
def register(root, path, tensor, buffer):
    """Register a parameter or buffer under a dotted path, making the modules on the way."""
    *parents, name = path.split(".")
    for parent in parents:
        if not hasattr(root, parent):
            root.add_module(parent, nn.Module())
        root = root.get_submodule(parent)
    if buffer:
        root.register_buffer(name, tensor)
    else:
        root.register_parameter(name, nn.Parameter(tensor, requires_grad=tensor.is_floating_point()))
'''


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
    for spec in analysis.parameters:
        made = f"torch.empty({spec.shape!r}, dtype=torch.{spec.dtype})"
        lines.append(f"        register(self, {spec.origin!r}, {made}, {spec.is_buffer})")
    for source, spec in program.constants:
        lines.append(f"        self.{source.name} = {_constant(spec)}")
    lines += ["", f"    def forward(self, {', '.join(_arguments(analysis))}):"]
    body = [*_scalar_checks(analysis), *_inputs(program, code)]
    for name in parameters:
        spec = analysis.parameters[int(name[1:])]
        get = "get_buffer" if spec.is_buffer else "get_parameter"
        body.append(f'{name} = self.{get}("{spec.origin}").detach().contiguous()')
    body += [f"{source.name} = self.{source.name}" for source, _ in program.constants]
    body += [_allocate(name, node.shape, node.dtype) for name, node in code.buffers]
    body += [f"LIB.{launch.name}({', '.join(launch.arguments)})" for launch in code.launches]
    results = ", ".join(code.results)
    body.append(f"return ({results},)" if analysis.output_is_tuple else f"return {results}")
    return "\n".join([*lines, *("        " + line for line in body), ""])


def _constant(spec: TensorSpec) -> str:
    if spec.values is None:
        raise NoTemplateError(f"a lifted constant of {spec.elements} elements")
    values = ", ".join(_number(value) for value in spec.values)
    return f"torch.tensor([{values}], dtype=torch.{spec.dtype}).reshape({spec.shape!r})"


def _number(value: bool | int | float) -> str:
    text = repr(value)
    return f'float("{text}")' if text.lstrip("-") in {"inf", "nan"} else text


def _arguments(analysis: ProblemAnalysis) -> list[str]:
    """Names of forward's arguments: tensors `x0`, `x1`, …, anything else `a<position>`."""
    scalars = {position for position, _ in analysis.scalar_inputs}
    count = len(analysis.inputs) + len(scalars)
    names, tensor = [], 0
    for position in range(count):
        if position in scalars:
            names.append(f"a{position}")
        else:
            names.append(f"x{tensor}")
            tensor += 1
    return names


def _scalar_checks(analysis: ProblemAnalysis) -> list[str]:
    """Plain arguments are compiled in: another value is refused rather than ignored."""
    lines = []
    for position, value in analysis.scalar_inputs:
        lines.append(f"if a{position} != {value!r}:")
        lines.append(f'    raise ValueError("argument {position} was compiled as {value!r}")')
    return lines


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
