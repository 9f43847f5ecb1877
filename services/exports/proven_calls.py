"""What an exported kernel looks at before it runs, as text at the end of its module.

A compiled kernel reads through bare pointers: what it was not proven for must raise, not crash the caller's process.
"""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import TypeVar

from services.domain.problems import ArgumentForm, CallForm, ProblemAnalysis, TensorForm
from services.domain.python_source import parsed
from services.exports.winner import Winner

N = TypeVar("N", ast.ClassDef, ast.FunctionDef)
_NOT_FINITE = re.compile(r"float\('-?(inf|nan)'\)")

_TEXT = '''

# Added by Kernelwright: a call that the kernel was not proven for raises before the kernel runs.
import torch  # noqa: E402

_PROVEN_CALLS = {calls}
"""Of each kind of call that was judged, for each argument: dtype, dimensions, whether it is on the device, whether it
is empty; a tuple of those for what holds tensors, None for what holds none."""
_PROVEN_NAMES = {names!r}
_PROVEN_DEFAULTS = {defaults}
"""Of the original's arguments, by name: what the kernel is given for those that a call leaves out."""
_PROVEN_WEIGHTS = frozenset({weights!r})
_PROVEN_CONSTRUCTOR = {given}


def _proven_tensors(value):
    """The tensors in an argument, in order."""
    if isinstance(value, torch.Tensor):
        return (value,)
    if isinstance(value, dict):
        parts = value.values()
    elif isinstance(value, (list, tuple)):
        parts = value
{records}    else:
        return ()
    return tuple([tensor for part in parts for tensor in _proven_tensors(part)])


def _proven_kind(value):
    if isinstance(value, torch.Tensor):
        return (value.dtype, value.ndim, value.{is_there}, value.numel() == 0)
    return tuple([_proven_kind(tensor) for tensor in _proven_tensors(value)]) or None


def _proven_dtypes(kind):
    if kind is None:
        return ()
    return tuple([one[0] for one in kind]) if isinstance(kind[0], tuple) else (kind[0],)


def _proven_described(kind, device):
    if kind is None:
        return "no tensor"
    if isinstance(kind[0], tuple):
        return f"[{{', '.join([_proven_described(one, device) for one in kind])}}]"
    dtype, rank, _, is_empty = kind
    return f"{{str(dtype)[6:]}}{{' without elements' if is_empty else ''}} of rank {{rank}} on {{device}}"


def _refuse_unproven(arguments):
    """Say what of a call was not proven."""
    if torch.get_default_dtype() is not torch.float32:
        raise TypeError(f"this kernel was proven with float32 as the default dtype, not {{torch.get_default_dtype()}}")
    for position, value in enumerate(arguments):
        name = _PROVEN_NAMES[position] if position < len(_PROVEN_NAMES) else f"argument {{position}}"
        known = {{kinds[position] for kinds in _PROVEN_CALLS if position < len(kinds)}}
        kind = _proven_kind(value)
        if known and kind not in known:
            wanted = " or ".join(sorted([_proven_described(one, "{device}") for one in known]))
            tensors = _proven_tensors(value)
            found = _proven_described(kind, tensors[0].device.type) if tensors else type(value).__name__
            error = ValueError if _proven_dtypes(kind) in [_proven_dtypes(one) for one in known] else TypeError
            raise error(f"this kernel was proven for {{name}}: {{wanted}}; {{name}} is {{found}}")
    raise TypeError("this kernel was not proven for these arguments together: their number, dtypes and ranks")
{without_backward}

class ModelNew(ModelNew):
    """The kernel, which runs for calls like those that it was proven for. `TypeError` and `ValueError` say what else a
    call is: another dtype, rank or device, an empty tensor.{also}"""

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
        for name in _PROVEN_NAMES[len(arguments) :]:
            if name in keywords:
                arguments += (keywords.pop(name),)
            elif keywords and name in _PROVEN_DEFAULTS:
                arguments += (_PROVEN_DEFAULTS[name],)
            else:
                break
        if keywords:
            raise TypeError(f"forward() does not take {{', '.join(keywords)}} here: pass arguments in their order")
        kinds = tuple([_proven_kind(value) for value in arguments])
        for name in _PROVEN_NAMES[len(arguments) :]:
            if kinds in _PROVEN_CALLS or name not in _PROVEN_DEFAULTS:
                break
            arguments += (_PROVEN_DEFAULTS[name],)
            kinds += (None,)
        if kinds not in _PROVEN_CALLS or torch.get_default_dtype() is not torch.float32:
            _refuse_unproven(arguments)
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
_RECORDS = """    elif "__dataclass_fields__" in dir(value):
        parts = [getattr(value, name) for name in value.__dataclass_fields__]
"""
_WITHOUT_BACKWARD = '''

class _ProvenWithoutBackward(torch.autograd.Function):
    """Marks an output whose gradients were not judged: a backward pass through it raises."""

    @staticmethod
    def forward(ctx, output, *wanted):
        ctx.mark_dirty(output)
        return output

    @staticmethod
    def backward(ctx, *gradients):
        raise RuntimeError(
            "this kernel has no backward, and an input or a weight requires a gradient: "
            "call it under torch.no_grad(), or set requires_grad to False"
        )


def _proven_without_backward(value, wanted):
    """What the kernel returned, each tensor marked."""
    if isinstance(value, torch.Tensor):
        if not (value.is_floating_point() or value.is_complex()):
            return value
        return _ProvenWithoutBackward.apply(value.detach(), *wanted)
    if isinstance(value, dict):
        return {name: _proven_without_backward(part, wanted) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        parts = [_proven_without_backward(part, wanted) for part in value]
        return type(value)(*parts) if "_fields" in dir(value) else type(value)(parts)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"this kernel returns a {type(value).__name__}: call it under torch.no_grad()")

'''
_GRADIENTS = """        if torch.is_grad_enabled():
            weights = [tensors.get(name) for tensors, name, _, _ in self._proven_weights]
            known = [*_proven_tensors(arguments), *weights]
            wanted = [tensor for tensor in known if tensor is not None and tensor.requires_grad]
            if wanted:
                with torch.no_grad():
                    found = super().forward(*arguments)
                return _proven_without_backward(found, wanted)
"""


def delivered(winner: Winner) -> str:
    """A winner's module as it is exported: its `ModelNew` raises `TypeError` or `ValueError` for calls that differ from
    every judged one in a tensor's dtype, rank, device or emptiness and for weights of another dtype or device. Where no
    backward pass was judged, one through its outputs raises `RuntimeError`, so that no gradient is lost unseen. The
    module as it is where nothing is known of the calls."""
    analysis = winner.job.analysis
    calls = _calls(analysis) if analysis is not None else ()
    if analysis is None or not calls:
        return winner.source
    given = _init_inputs(winner, analysis)
    names, defaults = _arguments(winner)
    backward = winner.report.passes is not None
    return winner.source.rstrip("\n") + _TEXT.format(
        calls=_literal(calls),
        names=names,
        defaults=f"{{{', '.join(f'{name!r}: {_plain(value)}' for name, value in defaults.items())}}}",
        weights=tuple(spec.origin for spec in analysis.parameters if spec.is_buffer and spec.origin),
        is_there="is_cuda" if winner.on_gpu else "is_cpu",
        device="cuda" if winner.on_gpu else "cpu",
        also=""
        if backward
        else "\n    A backward pass through it raises `RuntimeError`: its gradients were not judged.",
        given=given,
        constructor="" if given is None else _CONSTRUCTOR,
        gradients="" if backward else _GRADIENTS,
        without_backward="" if backward else _WITHOUT_BACKWARD,
        records=_RECORDS if "dataclass" in winner.job.spec.problem.source else "",
    )


def _calls(analysis: ProblemAnalysis) -> tuple[CallForm, ...]:
    """The forms of all input sets; in analyses from before those were recorded, that of the traced one."""
    calls = analysis.calls or (() if analysis.trace_error is not None else (_traced(analysis),))
    return tuple(call for call in calls if all(one.dtype.isidentifier() for form in call for one in _tensors(form)))


def _tensors(form: ArgumentForm) -> tuple[TensorForm, ...]:
    if isinstance(form, TensorForm):
        return (form,)
    return form or ()


def _traced(analysis: ProblemAnalysis) -> CallForm:
    forms: list[ArgumentForm] = [
        TensorForm(dtype=spec.dtype, rank=len(spec.shape), is_empty=not spec.elements) for spec in analysis.inputs
    ]
    for position, _ in sorted(analysis.scalar_inputs):
        forms.insert(position, None)
    return tuple(forms)


def _literal(calls: tuple[CallForm, ...]) -> str:
    """A frozenset as source."""
    lines = [f"        ({''.join(f'{_part(one)}, ' for one in call).rstrip()})," for call in calls]
    return "\n".join(["frozenset(", "    {", *lines, "    }", ")"])


def _part(form: ArgumentForm) -> str:
    if isinstance(form, TensorForm):
        return f"(torch.{form.dtype}, {form.rank}, True, {form.is_empty})"
    return f"({''.join(f'{_part(one)}, ' for one in form).rstrip()})" if form else "None"


def _arguments(winner: Winner) -> tuple[tuple[str, ...], dict[str, object]]:
    """Names of the original's positional arguments, and the defaults of those that have one; where the original does
    not write them out, the names that the kernel has for them."""
    found = _forward(winner.job.spec.problem.source, "Model")
    if found is None or found.vararg:
        own = _forward(winner.source, "ModelNew")
        return ((), {}) if own is None else (_names(own), {})
    names = _names(found)
    first = len(names) - len(found.defaults)
    return names, dict(_written(names[first:], found.defaults))


def _forward(source: str, name: str) -> ast.arguments | None:
    """The arguments of the forward that a class defines."""
    body = next((node.body for node in _definitions(source, ast.ClassDef, name)), [])
    return next((node.args for node in body if isinstance(node, ast.FunctionDef) and node.name == "forward"), None)


def _names(given: ast.arguments) -> tuple[str, ...]:
    return tuple(one.arg for one in (*given.posonlyargs, *given.args)[1:])


def _written(names: Sequence[str], defaults: Sequence[ast.expr]) -> Iterator[tuple[str, object]]:
    """Defaults that are plain data; a call that leaves another one out is refused."""
    for name, default in zip(names, defaults, strict=True):
        with contextlib.suppress(ValueError):
            text = ast.unparse(default)
            yield name, float(text[7:-2]) if _NOT_FINITE.fullmatch(text) else ast.literal_eval(default)


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
