"""A problem made of a function or an `nn.Module` class, and example inputs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from kernelwright.optimized_functions.capture import CapturedFunction, capture, capture_module, constant
from kernelwright.optimized_functions.examples import ExampleError, Inputs, drawing, input_sets
from services.domain.constraints import ArgumentConstraint, ConstraintError, check_names, parse, written
from services.domain.problems import Problem
from workers.referee.inputs.constraints import Limits

_HEAD = '''"""`{name}` of {path}, as kernelwright.solve found it."""

from __future__ import annotations

{source}
'''

_MODEL = """class Model(torch.nn.Module):
    def forward(self, {parameters}):
        return {name}({names})"""

_LAYER = """class Model({name}):
    def __init__(self):
        super().__init__({arguments})
        self.eval()

    def forward(self, {parameters}):
        return super().forward({names})"""

_NAME_THEM = "Name its constructor's arguments with --init: a tuple, or a dict of keywords."


@dataclass(frozen=True, kw_only=True)
class FunctionProblem:
    """A function as a problem."""

    captured: CapturedFunction
    problem: Problem
    announced: tuple[Inputs, ...]
    """Complete arguments of the example calls, defaults filled in."""
    held_out: tuple[Inputs, ...]
    """The same of calls whose shapes no agent sees."""


def make_problem(
    function: Callable[..., Any],
    example_inputs: Sequence[Any],
    held_out: Sequence[Any] = (),
    *,
    allow_library: tuple[str, ...] = (),
    constraints: Mapping[str, Any] | None = None,
) -> FunctionProblem:
    """The problem of a function. Calls the function with copies of the first example. `constraints` becomes the
    problem's `CONSTRAINTS`.

    Raises `ProblemError` where the function does not stand by itself, raises, changes its arguments, returns no tensor
    or cannot be traced, and where `constraints` states none."""
    captured = capture(function)
    promised = _promised(captured, constraints)
    return _made(captured, function, example_inputs, held_out, allow_library, _MODEL, promised)


def make_module_problem(
    module: type[nn.Module],
    example_inputs: Sequence[Any],
    arguments: tuple[Any, ...] = (),
    keywords: Mapping[str, Any] | None = None,
    *,
    allow_library: tuple[str, ...] = (),
) -> FunctionProblem:
    """The problem of an `nn.Module` class in evaluation mode, with weights as its constructor draws them.

    Builds it, and calls it with copies of the first example. Raises `ProblemError` as `make_problem` does, and where
    the class cannot be built from `arguments` and `keywords`."""
    captured = capture_module(module)
    keywords = keywords or {}
    model = _built(captured, module, arguments, keywords)
    call = _call(captured, arguments, keywords).replace("{", "{{").replace("}", "}}")
    text = _LAYER.replace("{arguments}", call)
    return _made(captured, model, example_inputs, (), allow_library, text)


def _built(
    captured: CapturedFunction, module: type[nn.Module], arguments: tuple[Any, ...], keywords: Mapping[str, Any]
) -> nn.Module:
    try:
        inspect.signature(module).bind(*arguments, **keywords)
    except TypeError as error:
        raise captured.error(f"cannot be built: {error}", _NAME_THEM) from None
    try:
        return module(*arguments, **keywords).eval()
    except (Exception, SystemExit) as error:
        raise captured.error(f"cannot be built: {type(error).__name__}: {error}", _NAME_THEM) from error


def _call(captured: CapturedFunction, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> str:
    """The constructor's arguments as source."""
    parts = []
    for name, value in (*((None, value) for value in arguments), *keywords.items()):
        text = constant(value)
        if text is None:
            what = f"is built from a {type(value).__name__}"
            remedy = "Give numbers, strings, dtypes, None and tuples of these; build the rest in its __init__."
            raise captured.error(what, remedy)
        parts.append(text if name is None else f"{name}={text}")
    return ", ".join(parts)


def _made(
    captured: CapturedFunction,
    function: Callable[..., Any],
    example_inputs: Sequence[Any],
    held_out: Sequence[Any],
    allow_library: tuple[str, ...],
    model: str,
    promised: Limits | None = None,
) -> FunctionProblem:
    promised = promised or Limits()
    try:
        announced = _completed(captured, example_inputs)
        hidden = _completed(captured, held_out) if held_out else ()
        for inputs in (*announced, *hidden):
            _check_promised(promised, announced[0], inputs)
        source = _source(captured, announced, hidden, model, promised)
    except ExampleError as error:
        raise captured.error(f"cannot be solved with these example inputs: {error}", "Change the examples.") from None
    for inputs in (*announced, *hidden):
        _try(captured, function, inputs)
    _trace(captured, function, announced[0])
    problem = Problem(name=captured.name, source=source, path=f"{captured.name}.py", allow_library=allow_library)
    return FunctionProblem(captured=captured, problem=problem, announced=announced, held_out=hidden)


def _completed(captured: CapturedFunction, given: Sequence[Any]) -> tuple[Inputs, ...]:
    """The example calls with the defaults of what they leave out."""
    defaults = tuple(parameter.default for parameter in captured.parameters)
    completed = []
    for inputs in input_sets(given, len(defaults)):
        rest = defaults[len(inputs) :]
        missing = [p.name for p in captured.parameters[len(inputs) :] if p.default is p.empty]
        if missing:
            raise ExampleError(f"an example leaves out the argument `{missing[0]}`")
        completed.append((*inputs, *rest))
    return tuple(completed)


def _promised(captured: CapturedFunction, constraints: Mapping[str, Any] | None) -> Limits:
    """What is promised of the arguments. Raises `ProblemError`."""
    names = tuple(parameter.name for parameter in captured.parameters)
    try:
        found = parse(dict(constraints or {}))
        check_names(found, names)
    except ConstraintError as error:
        remedy = 'Write constraints={"x": {"shape": {0: "multiple of 64"}, "range": (0.0, 1.0)}, "mask": "fixed"}.'
        raise captured.error(f"cannot be solved with these constraints: {error}", remedy) from None
    return Limits(constraints=found, names=names)


def _check_promised(promised: Limits, first: Inputs, inputs: Inputs) -> None:
    """Raise `ExampleError` for an example that breaks a promise."""
    found = promised.contradiction(first, inputs, inputs)
    if found is not None:
        raise ExampleError(f"an example breaks a constraint: {found}")


def _source(
    captured: CapturedFunction,
    announced: tuple[Inputs, ...],
    held_out: tuple[Inputs, ...],
    model: str,
    promised: Limits,
) -> str:
    by_number = promised.by_number(announced[0])
    names = ", ".join(parameter.name for parameter in captured.parameters)
    parts = [
        _HEAD.format(name=captured.name, path=captured.path.rsplit("/", 1)[-1], source=captured.source).rstrip(),
        model.format(name=captured.name, names=names, parameters=_parameters(captured)),
        drawing("get_inputs", announced[0], by_number),
        "def get_init_inputs():\n    return []",
        *(_list("INPUT_SETS", "_example", announced[1:], by_number)),
        *(_list("HELD_OUT", "_held_out", held_out, by_number)),
        *([written(promised.constraints)] if promised else []),
    ]
    return "\n\n\n".join(parts) + "\n"


def _parameters(captured: CapturedFunction) -> str:
    """The parameters as source, with the defaults that can be written down; none before one that cannot."""
    texts: list[str] = []
    complete = True
    for parameter in reversed(captured.parameters):
        default = None if parameter.default is parameter.empty else constant(parameter.default)
        complete = complete and default is not None
        texts.append(f"{parameter.name}={default}" if complete else parameter.name)
    return ", ".join(reversed(texts))


def _list(name: str, prefix: str, sets: tuple[Inputs, ...], promised: Mapping[int, ArgumentConstraint]) -> list[str]:
    if not sets:
        return []
    functions = [f"{prefix}_{index}" for index in range(len(sets))]
    drawn = [drawing(function, inputs, promised) for function, inputs in zip(functions, sets, strict=True)]
    return [*drawn, f"{name} = [{', '.join(functions)}]"]


def _try(captured: CapturedFunction, function: Callable[..., Any], inputs: Inputs) -> None:
    """Call the function with copies; it returns tensors and leaves its arguments alone."""
    copies = _copies(inputs)
    try:
        with torch.no_grad():
            output = function(*copies)
    except Exception as error:
        raise captured.error(f"raised {type(error).__name__}: {error}", "Make it run with these examples.") from error
    for parameter, before, after in zip(captured.parameters, inputs, copies, strict=True):
        if isinstance(before, torch.Tensor) and not torch.equal(_bits(before), _bits(after)):
            remedy = "Return a new tensor instead (x + 1, not x.add_(1)): a kernel must leave its inputs alone."
            raise captured.error(f"changes its argument `{parameter.name}`", remedy)
    if not _is_output(output):
        raise captured.error(f"returns a {type(output).__name__}", "Return a tensor, or a tuple of tensors.")


def _trace(captured: CapturedFunction, function: Callable[..., Any], inputs: Inputs) -> None:
    """Raise unless the operators that it calls can be told, as every agent starts from them."""
    from workers.referee.costs.analysis import exported

    try:
        exported(_Traced(function), _copies(inputs))
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        remedy = "Use torch.where for conditions on values, and no .item(), NumPy or printing of tensors."
        raise captured.error(f"cannot be traced ({reason})", remedy) from error


class _Traced(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self._function = function

    def forward(self, *inputs: Any) -> Any:
        return self._function(*inputs)


def _copies(inputs: Inputs) -> Inputs:
    return tuple(value.detach().clone() if isinstance(value, torch.Tensor) else value for value in inputs)


def _bits(value: torch.Tensor) -> torch.Tensor:
    """The tensor's bytes, so that NaN equals itself."""
    return value.detach().reshape(-1).view(torch.uint8)


def _is_output(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return bool(value) and all(_is_output(item) for item in value)
    return isinstance(value, torch.Tensor)
