"""From the traced operator graph to nodes: one small function per family of ATen operators, found by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from agents.playbook.builder import FLOATS, Builder
from agents.playbook.errors import NoTemplateError
from agents.playbook.nodes import Node, Source
from agents.playbook.sizes import Poly, Sizes, poly, product
from services.domain.problems import Argument, Operator, ProblemAnalysis, SizeNumber, TensorSpec, ValueRef

SUPPORTED = frozenset(("float32", "float64", "bfloat16", "float16", "int64", "int32", "int16", "int8", "uint8", "bool"))

Value = Node | tuple[Node, ...]


class Call:
    """One operator's arguments, by position or name."""

    def __init__(
        self,
        item: Operator,
        values: dict[str, Node],
        builder: Builder,
        followed: Mapping[int | str, Node] | None = None,
    ) -> None:
        """`followed`: arguments that follow a size, by position or keyword, as the nodes that compute them."""
        self.item = item
        self.taken: set[int | str] = set()
        """Which of those were asked for as nodes; another one is built in as the trace had it."""
        self._followed = followed or {}
        self.name = item.target.split(".")[1]
        self.b = builder
        self._values = values
        self._keywords = dict(item.keywords)

    @property
    def dtype(self) -> str:
        """Of the first result."""
        return self.item.outputs[0].dtype

    def get(self, position: int, name: str, default: object = None) -> object:
        """An argument: a literal, a node or a tuple of either."""
        if position < len(self.item.arguments):
            return self._value(self.item.arguments[position])
        if name in self._keywords:
            return self._value(self._keywords[name])
        return default

    def node(self, position: int, name: str = "") -> Node:
        """A tensor argument; a number becomes a constant of shape (), or what computes it from a size."""
        key: int | str = position if position < len(self.item.arguments) else name
        if key in self._followed:
            self.taken.add(key)
            return self._followed[key]
        value = self.get(position, name)
        if isinstance(value, Node):
            return value
        if isinstance(value, bool):
            return self.b.const(value, "bool")
        if isinstance(value, int | float):
            return self.b.const(value, "float32" if isinstance(value, float) else "int64")
        raise NoTemplateError(f"{self.item.target} with argument {position} = {value!r}")

    def optional(self, position: int, name: str) -> Node | None:
        """A tensor argument that may be missing."""
        value = self.get(position, name)
        return value if isinstance(value, Node) else None

    def number(self, position: int, name: str, default: float = 0.0) -> float:
        """A numeric argument."""
        value = self.get(position, name, default)
        if value is None:
            return default
        if isinstance(value, int | float):
            return value
        raise NoTemplateError(f"{self.item.target} with {name} = {value!r}")

    def integers(self, position: int, name: str) -> tuple[int, ...]:
        """A tuple of whole numbers."""
        value = self.get(position, name, ())
        items = value if isinstance(value, tuple) else (value,)
        if not all(isinstance(item, int) for item in items):
            raise NoTemplateError(f"{self.item.target} with {name} = {value!r}")
        return tuple(item for item in items if isinstance(item, int))

    def dim(self, position: int, name: str = "dim", default: int = 0, rank: int | None = None) -> int:
        """A dimension, counted from the front."""
        count = len(self.node(0).shape) if rank is None else rank
        return int(self.number(position, name, default)) % max(count, 1)

    def unable(self, detail: str) -> NoTemplateError:
        """The error for a variant that no template covers."""
        return NoTemplateError(f"{short(self.item.target)} {detail}")

    def _value(self, argument: Argument) -> object:
        if isinstance(argument, ValueRef):
            if argument.ref not in self._values:
                raise NoTemplateError(f"{short(self.item.target)} of a value that is not known")
            return self._values[argument.ref]
        if isinstance(argument, tuple):
            return tuple(self._value(item) for item in argument)
        return argument


Rule = Callable[[Call], Value]
RULES: dict[str, Rule] = {}


def lowers(*names: str) -> Callable[[Rule], Rule]:
    """Register a function for operators, by base name (`add`) or full name (`max.dim`)."""

    def register(rule: Rule) -> Rule:
        for name in names:
            RULES[name] = rule
        return rule

    return register


def short(target: str) -> str:
    """`aten.convolution.default` → `aten.convolution`."""
    return ".".join(target.split(".")[:2])


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
    if analysis.trace_error is not None:
        raise NoTemplateError(f"the graph could not be traced ({analysis.trace_error})")
    sizes = Sizes()
    _lower_once(analysis, sizes)
    return _lower_once(analysis, sizes)


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
        call = Call(item, values, builder, followed)
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


def _source(spec: TensorSpec, name: str, sizes: Sizes | None) -> Source:
    """A tensor in memory; inputs have symbolic sizes, everything else has the sizes it was built with."""
    shape: tuple[Poly, ...] = tuple(poly(size) for size in spec.shape)
    if sizes is not None:
        shape = tuple(sizes.new(f"n{name[1:]}_{dim}", size) for dim, size in enumerate(spec.shape))
    return Source(shape=shape, dtype=spec.dtype, name=name)


def _lower_call(call: Call, values: dict[str, Node]) -> None:
    target = call.item.target
    rule = RULES.get(target.removeprefix("aten.")) or RULES.get(call.name)
    if rule is None or not target.startswith("aten."):
        raise NoTemplateError(short(target))
    result = rule(call)
    nodes = result if isinstance(result, tuple) else (result,)
    for spec, node in zip(call.item.outputs, nodes, strict=False):
        _check(call, spec, node)
        values[spec.name] = node


def _check(call: Call, spec: TensorSpec, node: Node) -> None:
    """Another shape or dtype than the trace is a defect of the rule: better no kernel than a wrong one."""
    if spec.dtype not in SUPPORTED:
        raise call.unable(f"of dtype {spec.dtype}")
    shape = tuple(call.b.sizes.value(size) for size in node.shape)
    if shape != spec.shape or node.dtype != spec.dtype:
        raise call.unable(f"({spec.dtype}{list(spec.shape)} was lowered to {node.dtype}{list(shape)})")
