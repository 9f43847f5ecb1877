"""What an exported kernel looks at before it runs, as text at the end of its module.

A compiled kernel reads through bare pointers: what it was not proven for must raise, not crash the caller's process.
"""

from __future__ import annotations

import ast
from typing import TypeVar

from services.domain.problems import ProblemAnalysis, TensorForm
from services.domain.python_source import parsed
from services.exports.winner import Winner

N = TypeVar("N", ast.ClassDef, ast.FunctionDef)

_TEXT = '''

# Added by Kernelwright: a call that the kernel was not proven for raises before the kernel runs.
import torch  # noqa: E402

_PROVEN_CALLS = {calls}
"""Of each kind of call that was judged, for each argument: dtype, dimensions, whether it is on the device, whether it
is empty; None for what is no tensor."""
_PROVEN_NAMES = {names!r}
_PROVEN_WEIGHTS = frozenset({weights!r})
_PROVEN_CONSTRUCTOR = {given}


def _kind_of(value):
    if not isinstance(value, torch.Tensor):
        return None
    return (value.dtype, value.ndim, value.{is_there}, value.numel() == 0)


def _described(kind, device):
    if kind is None:
        return "no tensor"
    dtype, rank, _, is_empty = kind
    return f"{{str(dtype)[6:]}}{{' without elements' if is_empty else ''}} of rank {{rank}} on {{device}}"


def _refuse_call(arguments):
    """Say what of a call was not proven."""
    if torch.get_default_dtype() is not torch.float32:
        raise TypeError(f"this kernel was proven with float32 as the default dtype, not {{torch.get_default_dtype()}}")
    for position, value in enumerate(arguments):
        name = _PROVEN_NAMES[position] if position < len(_PROVEN_NAMES) else f"argument {{position}}"
        known = {{kinds[position] for kinds in _PROVEN_CALLS if position < len(kinds)}}
        kind = _kind_of(value)
        if known and kind not in known:
            wanted = " or ".join(sorted([_described(one, "{device}") for one in known]))
            found = type(value).__name__ if kind is None else _described(kind, value.device.type)
            same = kind is not None and kind[0] in {{one[0] for one in known if one is not None}}
            error = ValueError if same else TypeError
            raise error(f"this kernel was proven for {{name}}: {{wanted}}; {{name}} is {{found}}")
    raise TypeError("this kernel was not proven for these arguments together: their number, dtypes and ranks")


class ModelNew(ModelNew):
    """The kernel, which runs for calls like those that it was proven for. `TypeError` and `ValueError` say what else a
    call is: another dtype, rank or device, an empty tensor{also}."""

    def __init__(self, *arguments, **keywords):
{constructor}        super().__init__(*arguments, **keywords)
        weights = []
        for path, value in [*self.named_parameters(), *self.named_buffers()]:
            if isinstance(value, torch.nn.Parameter) or path in _PROVEN_WEIGHTS:
                owner, _, name = path.rpartition(".")
                module = self.get_submodule(owner)
                tensors = module._parameters if name in module._parameters else module._buffers
                weights.append((tensors, name, path, value.dtype))
        self._proven_weights = tuple(weights)

    def forward(self, *arguments, **keywords):
        for name in _PROVEN_NAMES[len(arguments) :] if keywords else ():
            if name in keywords:
                arguments += (keywords.pop(name),)
        if keywords:
            raise TypeError(f"forward() does not take {{', '.join(keywords)}} here: pass arguments in their order")
        kinds = tuple([_kind_of(value) for value in arguments])
        if kinds not in _PROVEN_CALLS or torch.get_default_dtype() is not torch.float32:
            _refuse_call(arguments)
        for tensors, name, path, dtype in self._proven_weights:
            value = tensors.get(name)
            if value is not None and (value.dtype is not dtype or not value.{is_there}):
                found = f"{{str(value.dtype)[6:]}} on {{value.device.type}}"
                raise TypeError(f"this kernel was proven for {{path}}: {{str(dtype)[6:]}} on {device}; it is {{found}}")
{gradients}        return super().forward(*arguments)
'''
_CONSTRUCTOR = """        given = [*arguments, *keywords.values()]
        given = [tuple(value) if isinstance(value, list) else value for value in given]
        if given != _PROVEN_CONSTRUCTOR:
            raise ValueError(f"this kernel was proven for constructor arguments {_PROVEN_CONSTRUCTOR}, not {given}")
"""
_GRADIENTS = """        if torch.is_grad_enabled():
            tensors = [tensors.get(name) for tensors, name, _, _ in self._proven_weights]
            if any([isinstance(value, torch.Tensor) and value.requires_grad for value in (*arguments, *tensors)]):
                raise ValueError(
                    "this kernel has no backward, and an input or a weight requires a gradient: "
                    "call it under torch.no_grad(), or set requires_grad to False"
                )
"""


def delivered(winner: Winner) -> str:
    """A winner's module as it is exported: its `ModelNew` raises `TypeError` or `ValueError` for calls that differ from
    every judged one in a tensor's dtype, rank, device or emptiness, for weights of another dtype or device, and for
    gradients that it would lose. The module as it is where nothing is known of the calls."""
    analysis = winner.job.analysis
    calls = _calls(analysis) if analysis is not None else ()
    if analysis is None or not calls:
        return winner.source
    given = _init_inputs(winner, analysis)
    return winner.source.rstrip("\n") + _TEXT.format(
        calls=_literal(calls),
        names=_argument_names(winner.source),
        weights=tuple(spec.origin for spec in analysis.parameters if spec.is_buffer and spec.origin),
        is_there="is_cuda" if winner.on_gpu else "is_cpu",
        device="cuda" if winner.on_gpu else "cpu",
        also="" if winner.report.passes is not None else ", a gradient that is wanted",
        given=given,
        constructor="" if given is None else _CONSTRUCTOR,
        gradients="" if winner.report.passes is not None else _GRADIENTS,
    )


def _calls(analysis: ProblemAnalysis) -> tuple[tuple[TensorForm | None, ...], ...]:
    """The forms of all input sets; in analyses from before those were recorded, that of the traced one."""
    calls = analysis.calls or (() if analysis.trace_error is not None else (_traced(analysis),))
    return tuple(call for call in calls if all(one is None or one.dtype.isidentifier() for one in call))


def _traced(analysis: ProblemAnalysis) -> tuple[TensorForm | None, ...]:
    forms: list[TensorForm | None] = [
        TensorForm(dtype=spec.dtype, rank=len(spec.shape), is_empty=not spec.elements) for spec in analysis.inputs
    ]
    for position, _ in sorted(analysis.scalar_inputs):
        forms.insert(position, None)
    return tuple(forms)


def _literal(calls: tuple[tuple[TensorForm | None, ...], ...]) -> str:
    """A frozenset as source; calls without their last arguments, where those are no tensors, count as well."""
    known = dict.fromkeys(call[:length] for call in calls for length in _lengths(call))
    lines = [f"        ({''.join(f'{_part(one)}, ' for one in call).rstrip()})," for call in known]
    return "\n".join(["frozenset(", "    {", *lines, "    }", ")"])


def _lengths(call: tuple[TensorForm | None, ...]) -> range:
    tensors = max((place + 1 for place, one in enumerate(call) if one is not None), default=0)
    return range(max(tensors, 1), len(call) + 1)


def _part(form: TensorForm | None) -> str:
    return "None" if form is None else f"(torch.{form.dtype}, {form.rank}, True, {form.is_empty})"


def _argument_names(source: str) -> tuple[str, ...]:
    """Positional arguments of the kernel's `forward`."""
    body = next((node.body for node in _definitions(source, ast.ClassDef, "ModelNew")), [])
    forward = next((node for node in body if isinstance(node, ast.FunctionDef) and node.name == "forward"), None)
    return () if forward is None else tuple(one.arg for one in (*forward.args.posonlyargs, *forward.args.args)[1:])


def _init_inputs(winner: Winner, analysis: ProblemAnalysis) -> str | None:
    """The judged constructor arguments as source; None where others were judged too, or they are no plain data."""
    problem = winner.job.spec.problem.source
    if "INIT_SETS" in problem or (not analysis.init_inputs and not _has_no_init_inputs(problem)):
        return None
    return f"[{', '.join(map(_plain, analysis.init_inputs))}]"


def _plain(value: object) -> str:
    text = repr(value)
    return f"float('{text}')" if text.lstrip("-") in {"inf", "nan"} else text


def _has_no_init_inputs(problem: str) -> bool:
    found = _definitions(problem, ast.FunctionDef, "get_init_inputs")
    returned = [node.value for one in found for node in ast.walk(one) if isinstance(node, ast.Return)]
    return all(isinstance(value, ast.List | ast.Tuple) and not value.elts for value in returned)


def _definitions(source: str, kind: type[N], name: str) -> list[N]:
    """Of a module's top level."""
    return [node for node in parsed(source).body if isinstance(node, kind) and node.name == name]
