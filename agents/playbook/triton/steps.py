"""Graphs as a sequence of steps: each operator that a family knows becomes a call of its host function."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agents.playbook.errors import NoTemplateError
from agents.playbook.triton.module import candidate
from agents.playbook.triton.template import Variant
from services.domain.problems import Argument, Operator, ProblemAnalysis, TensorSpec, ValueRef

FLOATS = ("float32", "float16", "bfloat16")
"""Types that the templates claim."""
MOST_SETTINGS = 24
"""Of a candidate: an evaluation tries a few more."""
_KERNELS = Path(__file__).parent / "kernels"


@dataclass(frozen=True, kw_only=True)
class KernelStep:
    """One way to compute an operator."""

    name: str
    """The algorithm, for a variant's name."""
    reason: str
    """Why it should help, and where it loses."""
    kernels: tuple[str, ...]
    """Names of the kernel texts that its call needs, or the texts themselves where they are generated."""
    call: str
    """The expression that computes the operator's first output, from names of values in `forward`."""
    tunables: Mapping[str, tuple[int | bool | str, ...]] = field(default_factory=dict)


Writer = Callable[["NamedGraph", Operator], Sequence[KernelStep]]
"""What a family can do for an operator; nothing where it does not fit."""


class NamedGraph:
    """A traced graph, with the text by which `forward` names its values."""

    def __init__(self, analysis: ProblemAnalysis) -> None:
        self.analysis = analysis
        self.specs = {spec.name: spec for spec in (*analysis.inputs, *analysis.parameters, *analysis.constants)}
        self.specs |= {spec.name: spec for item in analysis.operators for spec in item.outputs}
        self._texts = {spec.name: f"x{number}" for number, spec in enumerate(analysis.inputs)}
        self._texts |= {spec.name: f"p{number}" for number, spec in enumerate(analysis.parameters)}
        self._texts |= {spec.name: f"self.c{number}" for number, spec in enumerate(analysis.constants)}
        made = [spec.name for item in analysis.operators for spec in item.outputs]
        self._texts |= {name: f"v{number}" for number, name in enumerate(made)}

    def spec(self, argument: Argument) -> TensorSpec | None:
        """The tensor that an argument stands for, or None."""
        return self.specs.get(argument.ref) if isinstance(argument, ValueRef) else None

    def text(self, argument: Argument) -> str:
        """A tensor argument's name in `forward`; `None` for one that is left out."""
        return self._texts[argument.ref] if isinstance(argument, ValueRef) else repr(argument)

    def result(self, operator: Operator) -> str:
        """The name of an operator's first output in `forward`."""
        return self._texts[operator.outputs[0].name]

    def is_floating(self, *arguments: Argument) -> bool:
        """Whether the tensors among the arguments share one of the claimed types."""
        specs = [spec for spec in map(self.spec, arguments) if spec is not None]
        return bool(specs) and specs[0].dtype in FLOATS and len({spec.dtype for spec in specs}) == 1


def argument(operator: Operator, position: int, name: str, default: Argument) -> Argument:
    """An operator's argument by its place in the schema, which drops trailing defaults, or its keyword."""
    if position < len(operator.arguments):
        return operator.arguments[position]
    return dict(operator.keywords).get(name, default)


def numbers(value: Argument, count: int, default: int) -> tuple[int, ...]:
    """An argument such as a stride for each of `count` dimensions: one for all, one each, or the default for none."""
    given = value if isinstance(value, tuple) else () if value is None else (value,)
    whole = tuple(item for item in given if isinstance(item, int))
    if len(whole) != len(given) or len(whole) not in (0, 1, count):
        raise NoTemplateError(f"{value!r} is no number for each of {count} dimensions")
    return whole if len(whole) == count else (whole[0] if whole else default,) * count


def base(operator: Operator) -> str:
    """`aten.conv2d.padding` without namespace and overload: `conv2d`."""
    return operator.target.removeprefix("aten.").partition(".")[0]


@functools.cache
def kernel_text(name: str) -> str:
    """A text of the folder `kernels`."""
    return (_KERNELS / f"{name}.py.txt").read_text(encoding="utf-8")


def variants(
    analysis: ProblemAnalysis, writers: Mapping[str, Writer], needed: frozenset[str], title: str
) -> tuple[Variant, ...]:
    """Candidates for a graph all of whose operators have a writer, one of `needed` among them; else none.

    The first variant takes every operator's first step, the second those that have a second, and so on."""
    operators = analysis.operators
    if not any(base(item) in needed for item in operators) or any(base(item) not in writers for item in operators):
        return ()
    graph = NamedGraph(analysis)
    try:
        ways = [tuple(writers[base(item)](graph, item)) for item in operators]
        if not all(ways):
            return ()
        chosen = [
            [steps[min(rank, len(steps) - 1)] for steps in ways] for rank in range(max(len(steps) for steps in ways))
        ]
        return tuple(_variant(graph, steps, title) for steps in chosen)
    except NoTemplateError:
        return ()


def single(graph: NamedGraph, step: KernelStep, title: str) -> Variant:
    """A candidate whose graph is one step as a whole."""
    given = "v" if not graph.analysis.output_is_tuple else "(v,)"
    return _written(graph, (step,), [f"v = {step.call}", f"return {given}"], title)


def _variant(graph: NamedGraph, steps: Sequence[KernelStep], title: str) -> Variant:
    analysis = graph.analysis
    calls = [f"{graph.result(item)} = {step.call}" for item, step in zip(analysis.operators, steps, strict=True)]
    returned = [graph.text(ValueRef(ref=name)) for name in analysis.outputs]
    given = f"({', '.join(returned)},)" if analysis.output_is_tuple else returned[0]
    return _written(graph, steps, [*calls, f"return {given}"], title)


def _written(graph: NamedGraph, steps: Sequence[KernelStep], forward: Sequence[str], title: str) -> Variant:
    texts = dict.fromkeys(text for step in steps for text in step.kernels)
    tunables: dict[str, tuple[int | bool | str, ...]] = {}
    for step in steps:
        tunables |= {name: values for name, values in step.tunables.items() if name not in tunables}
    names = dict.fromkeys(step.name for step in steps)
    count = len(graph.analysis.parameters)
    used = [number for number in range(count) if any(re.search(rf"\bp{number}\b", line) for line in forward)]
    return Variant(
        name="_".join(names),
        reason="; ".join(dict.fromkeys(step.reason for step in steps)),
        source=candidate(
            graph.analysis,
            title=f"{title}: {', '.join(names)}.",
            kernels="\n\n".join(text if "\n" in text else kernel_text(text) for text in texts),
            forward=forward,
            tunables=_limited(tunables),
            parameters=used,
        ),
    )


def _limited(tunables: Mapping[str, tuple[int | bool | str, ...]]) -> dict[str, tuple[int | bool | str, ...]]:
    """The parameters with as many values as `MOST_SETTINGS` allows: the last ones of the longest list go first."""
    kept = dict(tunables)
    while math.prod(len(values) for values in kept.values()) > MOST_SETTINGS:
        longest = max(kept, key=lambda name: len(kept[name]))
        kept[longest] = kept[longest][:-1]
    return kept
