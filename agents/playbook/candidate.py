"""What every candidate module of the playbook holds: the reference's parameters by their paths, its arguments."""

from __future__ import annotations

from agents.playbook.errors import NoTemplateError
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


def registrations(analysis: ProblemAnalysis) -> list[str]:
    """Statements of `__init__`: parameters and buffers under the reference's paths, lifted constants as `c…`,
    those of other forms after them."""
    lines = []
    for spec in analysis.parameters:
        made = f"torch.empty({spec.shape!r}, dtype=torch.{spec.dtype})"
        lines.append(f"register(self, {spec.origin!r}, {made}, {spec.is_buffer})")
    constants = [spec for one in (analysis, *analysis.other_forms) for spec in one.constants]
    return [*lines, *(f"self.c{number} = {_constant(spec)}" for number, spec in enumerate(constants))]


def parameter(analysis: ProblemAnalysis, number: int) -> str:
    """The expression that reads a parameter or buffer in `forward`."""
    spec = analysis.parameters[number]
    get = "get_buffer" if spec.is_buffer else "get_parameter"
    return f'self.{get}("{spec.origin}").detach()'


def _constant(spec: TensorSpec) -> str:
    if spec.values is None:
        raise NoTemplateError(f"a lifted constant of {spec.elements} elements")
    values = ", ".join(_number(value) for value in spec.values)
    return f"torch.tensor([{values}], dtype=torch.{spec.dtype}).reshape({spec.shape!r})"


def _number(value: bool | int | float) -> str:
    text = repr(value)
    return f'float("{text}")' if text.lstrip("-") in {"inf", "nan"} else text


def arguments(analysis: ProblemAnalysis) -> list[str]:
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


def scalar_checks(analysis: ProblemAnalysis) -> list[str]:
    """Plain arguments are compiled in: another value is refused rather than ignored."""
    lines = []
    for position, value in analysis.scalar_inputs:
        lines.append(f"if a{position} != {value!r}:")
        lines.append(f'    raise ValueError("argument {position} was compiled as {value!r}")')
    return lines
