"""How far the inputs' whole numbers may go before the reference's own arithmetic overflows or an index is out of range.

Ranges are followed through the graph. An input that reaches an operator of which nothing is known here (a histogram, a
loss, a comparison with places) has none.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch

from services.domain.problems import Argument, Operator, ProblemAnalysis, TensorSpec, ValueRef
from workers.referee.costs.operator_costs import MATRIX, VIEWS, base_name


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


Ends = tuple[int, int]
MOVED = VIEWS | _words("clone flip repeat roll cat stack lift_fresh_copy narrow")
CONVERSIONS = frozenset(["to", "_to_copy"])
COMPARISONS = _words("eq ne lt le gt ge")
HULLS = _words(
    """clamp clamp_min clamp_max relu maximum minimum amax amin max min where masked_fill bitwise_right_shift
    __rshift__"""
)
"""Operators whose results lie between their operands' ends."""
TURNED = frozenset(["abs", "neg"])
QUOTIENTS = _words("div floor_divide remainder fmod")
BITWISE = _words("bitwise_and bitwise_or bitwise_xor bitwise_not __and__ __or__ __xor__")
TABLES = {"embedding": 1, "gather": 2, "index_select": 2, "index": 1}
"""Operators that read a table, the first argument, with the position of the index."""
MOST_IN_FLOAT = {"float16": 1 << 11, "bfloat16": 1 << 8}
"""Largest whole numbers that are converted; `MOST_CONVERTED` in other dtypes."""
MOST_CONVERTED = 1 << 20
EXACT_IN_DOUBLE = 1 << 51
"""The same where a draw is to be larger than 32 bits hold: doubles may stand between."""
MOST_POWER = 8
WRAPPING = _words("add sub mul")
"""Operators that wrap in whole numbers, by definition."""
LEAST_WRAPPING = 32
"""Bits of numbers that are computed in their own dtype everywhere: C++ computes shorter ones in 32."""
HASHING = _words("remainder bitwise_and bitwise_xor __and__ __xor__")
"""Operators that follow a product that wraps where it is to be any number."""


@dataclass(frozen=True, kw_only=True)
class WholeRange:
    """What an input's whole numbers may be."""

    low: int
    high: int
    is_index: bool
    """Whether they say which row of a table is read."""


@dataclass(frozen=True, kw_only=True)
class _Value:
    ends: Ends
    inputs: frozenset[int]
    """The inputs whose whole numbers it follows from."""
    source: int | None = None
    """The input whose very values it has, moved at most."""


class _OverflowsError(Exception):
    """A range of the inputs is too wide."""


@dataclass
class _UnknownError(Exception):
    """Nothing is known of what becomes of some inputs."""

    inputs: frozenset[int]


def hashes(analysis: ProblemAnalysis) -> bool:
    """Whether whole numbers may be multiplied in order to be any number afterwards."""
    names = {base_name(item.target) for item in analysis.operators if any(map(_is_whole, item.outputs))}
    return "mul" in names and bool(names & HASHING)


def whole_ranges(
    analysis: ProblemAnalysis, *, converted: int = MOST_CONVERTED, wraps: bool = False
) -> dict[int, WholeRange]:
    """The ranges of the inputs that hold whole numbers, by their places among `analysis.inputs`, as far as known:
    numbers that are converted to floats are `converted` at most; with `wraps`, sums and products of at least 32 bits
    may be beyond them, as PyTorch defines what becomes of them."""
    free = {place for place, spec in enumerate(analysis.inputs) if _is_whole(spec) and spec.elements > 1}
    while free and analysis.operators:
        try:
            return _widest(analysis, free, converted, wraps=wraps)
        except _UnknownError as unknown:
            free -= unknown.inputs
        except _OverflowsError:  # by what is not the inputs'
            return {}
    return {}


def _widest(analysis: ProblemAnalysis, free: set[int], converted: int, *, wraps: bool) -> dict[int, WholeRange]:
    found = _Follower(analysis, dict.fromkeys(free, (0, 0)), converted, wraps).rows()
    rows = {place: _common(ends, _within(analysis.inputs[place].dtype, 1 << 63)) for place, ends in found.items()}
    for bits in range(63, 3, -1):
        ends = {place: _within(analysis.inputs[place].dtype, (1 << bits) - 1) for place in free} | rows
        try:
            _Follower(analysis, ends, converted, wraps).rows()
        except _OverflowsError:
            continue
        return {place: WholeRange(low=low, high=high, is_index=place in rows) for place, (low, high) in ends.items()}
    return {}


@dataclass
class _Follower:
    """Ranges of the inputs, followed through the graph."""

    analysis: ProblemAnalysis
    ends: dict[int, Ends]
    most_converted: int = MOST_CONVERTED
    wraps: bool = False
    _rows: dict[int, Ends] = field(default_factory=dict)
    _values: dict[str, _Value] = field(default_factory=dict)
    _specs: dict[str, TensorSpec] = field(default_factory=dict)

    def rows(self) -> dict[int, Ends]:
        """The rows that there are, for the inputs that are indices. Raises `_OverflowsError` and `_UnknownError`."""
        given = self.analysis
        for spec in (*given.inputs, *given.parameters, *given.constants):
            self._specs[spec.name] = spec
        for place, ends in self.ends.items():
            self._values[given.inputs[place].name] = _Value(ends=ends, inputs=frozenset([place]), source=place)
        for item in given.operators:
            self._specs |= {spec.name: spec for spec in item.outputs}
            followed = [self._values[name] for name in _references(_all(item)) if name in self._values]
            if followed:
                inputs = frozenset().union(*(value.inputs for value in followed))
                self._follow(item, followed, inputs)
        return self._rows

    def _follow(self, item: Operator, followed: list[_Value], inputs: frozenset[int]) -> None:
        name, outputs = base_name(item.target), item.outputs
        source = None
        if name in TABLES:
            read = self._read(item, TABLES[name], inputs)
            if read is None:
                return
            ends, inputs = read.ends, read.inputs
        else:
            ends = self._ends(item, name, inputs)
            source = followed[0].source if name in MOVED | CONVERSIONS and len(followed) == 1 else None
        for number, spec in enumerate(outputs):
            if spec.dtype == "bool" or (number and name in ("max", "min")):
                continue
            if not _is_whole(spec):
                self._converted(followed, spec.dtype)
                continue
            info, held = torch.iinfo(_dtype(spec)), ends
            if ends[0] < info.min or ends[1] > info.max:
                if not (self.wraps and name in WRAPPING and info.bits >= LEAST_WRAPPING):
                    raise _OverflowsError
                held = info.min, info.max
            self._values[spec.name] = _Value(ends=held, inputs=inputs, source=source)

    def _converted(self, followed: list[_Value], dtype: str) -> None:
        most = MOST_IN_FLOAT.get(dtype, self.most_converted)
        for value in followed:
            if max(-value.ends[0], value.ends[1]) > most:
                raise _OverflowsError

    def _ends(self, item: Operator, name: str, inputs: frozenset[int]) -> Ends:
        """The range of what an operator gives, if that is a whole number."""
        operands = list(self._operands(item))
        low = min([ends[0] for ends in operands], default=0)
        high = max([ends[1] for ends in operands], default=0)
        size = max(-low, high)
        if name in MOVED | CONVERSIONS or (name in HULLS and not self._is_held(item)):
            return low, high
        if name in COMPARISONS and not self._is_held(item):
            return 0, 1
        if name == "remainder" and isinstance(item.arguments[1], int) and item.arguments[1] > 0:
            return 0, item.arguments[1] - 1
        if name in TURNED or (name in QUOTIENTS and _is_number(item.arguments[1])):
            return -size, size
        if name in BITWISE:
            power = 1 << size.bit_length()
            return (-power if low < 0 else 0), power - 1
        return self._computed(item, name, operands, inputs)

    def _computed(self, item: Operator, name: str, operands: list[Ends], inputs: frozenset[int]) -> Ends:
        """The range of sums and products."""
        terms, last = 1, item.arguments[-1]
        if name == "sum":
            terms = self._spec(item.arguments[0]).elements // max(1, item.outputs[0].elements)
            low, high = operands[0]
        elif name == "pow" and isinstance(last, int) and 0 <= last <= MOST_POWER:
            high = max(map(abs, operands[0])) ** last
            low = -high
        elif name in MATRIX and len(operands) == 2 and self._spec(item.arguments[0]).shape:
            terms = self._spec(item.arguments[0]).shape[-1]
            low, high = _combined("mul", *operands)
        elif name in ("add", "sub", "mul") and len(operands) == 2 and not item.keywords:
            return _combined(name, *operands)
        else:
            raise _UnknownError(inputs)
        return min(0, low) * terms, max(0, high) * terms

    def _read(self, item: Operator, position: int, inputs: frozenset[int]) -> _Value | None:
        """What is read from a table; None where that does not follow from whole numbers of the inputs."""
        table, given = item.arguments[0], item.arguments[position]
        indices = given if isinstance(given, tuple) else (given,)
        dim = item.arguments[1] if position == 2 else 0
        if not isinstance(table, ValueRef) or not isinstance(dim, int):
            raise _UnknownError(inputs)
        for number, index in enumerate(indices):
            value = self._values.get(index.ref) if isinstance(index, ValueRef) else None
            if value is None:
                continue
            size = self._spec(table).shape[dim + number]
            first = -size if base_name(item.target) == "index" else 0
            ends = (first, size - 1)
            if value.source is None and _common(value.ends, ends) == value.ends:
                continue  # a remainder that no number takes beyond the table
            if value.source is None or self._spec(index).dtype not in ("int32", "int64"):
                raise _UnknownError(value.inputs)
            self._rows[value.source] = _common(ends, self._rows.get(value.source, ends))
        return self._values.get(table.ref)

    def _operands(self, item: Operator) -> Iterator[Ends]:
        """The ranges of the operands: those that are followed, numbers, and whatever others hold."""
        for argument in _all(item):
            for one in argument if isinstance(argument, tuple) else (argument,):
                if isinstance(one, ValueRef):
                    spec = self._spec(one)
                    if one.ref in self._values:
                        yield self._values[one.ref].ends
                    elif _is_whole(spec):
                        yield _within(spec.dtype, 1 << 62)
                elif (
                    isinstance(one, int | float)
                    and _is_number(one)
                    and base_name(item.target) not in MOVED | CONVERSIONS | {"sum", "amax", "amin"}
                ):
                    yield int(one), int(one)

    def _is_held(self, item: Operator) -> bool:
        """Whether an operand is a tensor of whole numbers that are not the inputs': places, for one."""
        refs = [self._spec(ValueRef(ref=name)) for name in _references(item.arguments) if name not in self._values]
        return any(_is_whole(spec) and spec.elements > 1 for spec in refs)

    def _spec(self, argument: Argument) -> TensorSpec:
        assert isinstance(argument, ValueRef)
        return self._specs[argument.ref]


def _combined(name: str, one: Ends, other: Ends) -> Ends:
    if name == "add":
        return one[0] + other[0], one[1] + other[1]
    if name == "sub":
        return one[0] - other[1], one[1] - other[0]
    products = [a * b for a, b in itertools.product(one, other)]
    return min(products), max(products)


def _common(one: Ends, other: Ends) -> Ends:
    return max(one[0], other[0]), min(one[1], other[1])


def _within(dtype: str, most: int) -> Ends:
    info = torch.iinfo(getattr(torch, dtype))
    return max(-most, info.min), min(most, info.max)


def _dtype(spec: TensorSpec) -> torch.dtype:
    found = getattr(torch, spec.dtype)
    assert isinstance(found, torch.dtype)
    return found


def _is_whole(spec: TensorSpec) -> bool:
    return spec.dtype in ("uint8", "int8", "int16", "int32", "int64")


def _is_number(argument: Argument) -> bool:
    return isinstance(argument, int | float) and not isinstance(argument, bool) and argument == argument


def _all(item: Operator) -> tuple[Argument, ...]:
    return (*item.arguments, *(value for _, value in item.keywords))


def _references(arguments: Sequence[Argument]) -> Iterator[str]:
    for argument in arguments:
        if isinstance(argument, ValueRef):
            yield argument.ref
        elif isinstance(argument, tuple):
            yield from _references(argument)
