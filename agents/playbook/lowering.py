"""From the traced operator graph to nodes: one small function per family of ATen operators, found by name."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from agents.playbook.builder import FLOATS, Builder
from agents.playbook.calls import RULES, SUPPORTED, OperatorCall, short
from agents.playbook.errors import NoTemplateError
from agents.playbook.nodes import Node, Source
from agents.playbook.sizes import Poly, Sizes, poly, product
from services.domain.problems import Operator, ProblemAnalysis, SizeNumber, TensorSpec

MOST_PARTS = 64
"""Into which a size is cut: a number that is a smaller share of it is built in."""


@dataclass(frozen=True, kw_only=True)
class Program:
    """A lowered graph."""

    inputs: tuple[Source, ...]
    parameters: tuple[Source, ...]
    """In the order of the analysis."""
    constants: tuple[tuple[Source, TensorSpec], ...]
    outputs: tuple[Node, ...]
    sizes: Sizes
    pinned: frozenset[tuple[int, int]] = frozenset()
    """(input, dimension) whose traced size is built into the kernels as a number."""


def lower(analysis: ProblemAnalysis) -> Program:
    """Lower a whole graph. Raises `NoTemplateError` naming the operator that has no template.

    Runs twice: sizes found equal late in the first run are one symbol from the start in the second.
    """
    if analysis.backward is not None:
        wanted = ", ".join(analysis.backward.gradients)
        raise NoTemplateError(f"a backward pass (gradients of {wanted} are judged, and its kernels are forward only)")
    if analysis.trace_error is not None:
        raise NoTemplateError(f"the graph could not be traced ({analysis.trace_error})")
    sizes = Sizes()
    _lower_once(analysis, sizes)
    return _lower_once(analysis, sizes)


def lowered(analysis: ProblemAnalysis) -> tuple[Program, ...]:
    """The graph of the first input set, and those of the other forms. Raises `NoTemplateError`."""
    return tuple([lower(one) for one in (analysis, *analysis.other_forms)])


def _lower_once(analysis: ProblemAnalysis, sizes: Sizes) -> Program:
    import agents.playbook.rules  # noqa: F401 - registers the rules

    builder = Builder(sizes)
    inputs = tuple(_source(spec, f"x{index}", sizes) for index, spec in enumerate(analysis.inputs))
    parameters = tuple(_source(spec, f"p{index}", None) for index, spec in enumerate(analysis.parameters))
    constants = tuple((_source(spec, f"c{index}", None), spec) for index, spec in enumerate(analysis.constants))
    values: dict[str, Node] = {}
    specs = [*analysis.inputs, *analysis.parameters, *analysis.constants]
    for spec, source in zip(specs, [*inputs, *parameters, *(source for source, _ in constants)], strict=True):
        values[spec.name] = source
    pinned = set(analysis.fixed_sizes)
    for index, item in enumerate(analysis.operators):
        numbers = {number.argument: number for number in analysis.size_numbers if number.operator == index}
        followed = {name: size_number(number, item, inputs, builder) for name, number in numbers.items()}
        lengths = {name: functools.partial(_length, number, inputs, builder) for name, number in numbers.items()}
        call = OperatorCall(item, values, builder, followed, lengths)
        _lower_call(call, values)
        built_in = (number for name, number in numbers.items() if name not in call.taken)
        pinned |= {(source, dim) for number in built_in for source, dim, _ in number.sizes}
    missing = [name for name in analysis.outputs if name not in values]
    if missing:
        raise NoTemplateError(f"no value for the output {missing[0]}")
    outputs = tuple(values[name] for name in analysis.outputs)
    return Program(
        inputs=inputs,
        parameters=parameters,
        constants=constants,
        outputs=outputs,
        sizes=sizes,
        pinned=frozenset(pinned),
    )


def size_number(number: SizeNumber, item: Operator, inputs: Sequence[Source], builder: Builder) -> Node:
    """What computes a number that follows sizes: in whole numbers where it is one, else in double precision."""
    sizes = [(inputs[source].shape[dim], exponent) for source, dim, exponent in number.sizes]
    if number.factor == int(number.factor) and all(exponent == 1 for _, exponent in sizes):
        total = product(size for size, _ in sizes) * int(number.factor)
        return builder.size(total, item.outputs[0].dtype if item.outputs[0].dtype in FLOATS else "int64")
    result = builder.const(number.factor, "float64")
    for size, exponent in sizes:
        node = builder.size(size, "float64")
        node = builder.call("sqrt", "float64", node) if abs(exponent) == 0.5 else node
        node = builder.call("square", "float64", node) if exponent == 2 else node
        result = builder.call("mul" if exponent > 0 else "div", "float64", result, node)
    return result


def _length(number: SizeNumber, inputs: Sequence[Source], builder: Builder) -> Poly | None:
    """A number that follows sizes as a size: a multiple of them or an equal part. None where it is neither."""
    share = Fraction(number.factor).limit_denominator(MOST_PARTS)
    if any(exponent != 1 for *_, exponent in number.sizes) or not math.isclose(share, number.factor, rel_tol=1e-9):
        return None
    total = product(inputs[source].shape[dim] for source, dim, _ in number.sizes)
    return builder.part(total * abs(share.numerator), share.denominator) * (1 if share > 0 else -1)


def _source(spec: TensorSpec, name: str, sizes: Sizes | None) -> Source:
    """A tensor in memory; inputs have symbolic sizes, everything else has the sizes it was built with."""
    shape: tuple[Poly, ...] = tuple(poly(size) for size in spec.shape)
    if sizes is not None:
        shape = tuple(sizes.new(f"n{name[1:]}_{dim}", size) for dim, size in enumerate(spec.shape))
    return Source(shape=shape, dtype=spec.dtype, name=name)


def _lower_call(call: OperatorCall, values: dict[str, Node]) -> None:
    target = call.item.target
    rule = RULES.get(target.removeprefix("aten.")) or RULES.get(call.name)
    if rule is None or not target.startswith("aten."):
        raise NoTemplateError(short(target))
    result = rule(call)
    nodes = result if isinstance(result, tuple) else (result,)
    for spec, node in zip(call.item.outputs, nodes, strict=False):
        _check(call, spec, node)
        values[spec.name] = node


def _check(call: OperatorCall, spec: TensorSpec, node: Node) -> None:
    """Another shape or dtype than the trace is a defect of the rule: better no kernel than a wrong one."""
    if spec.dtype not in SUPPORTED:
        raise call.unable(f"of dtype {spec.dtype}")
    shape = tuple(call.b.sizes.value(size) for size in node.shape)
    if shape != spec.shape or node.dtype != spec.dtype:
        raise call.unable(f"({spec.dtype}{list(spec.shape)} was lowered to {node.dtype}{list(shape)})")
