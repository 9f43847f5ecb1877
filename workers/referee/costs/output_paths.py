"""What the operators on the way to an output say of it: whether they only move values, and what it is chosen from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from services.domain.problems import Argument, Operator, ProblemAnalysis, TensorSpec, ValueRef
from workers.referee.costs.operator_costs import (
    CHOOSERS,
    CONVERTING,
    MOVERS,
    REARRANGING,
    UNSETTLED,
    VIEWS,
    base_name,
)

CHOICES = {"sort": 1, "argsort": 1, "topk": 2, "kthvalue": 2, "median": 1, "mode": 1}
"""Operators that return places of values and promise nothing of equal ones, with the position of the dimension among
their arguments. `argmax`, `argmin`, `max` and `min` are not among them: PyTorch documents that the first counts."""
COUNTING = frozenset(["abs", "neg", "arange", "one_hot", "repeat_interleave"])
"""Operators by whose presence whole numbers may be places, counts or amounts: the dtype's ends then mean nothing, or
have no negative."""
VALUED = frozenset(["cummax", "cummin", "kthvalue", "median", "nanmedian", "sort", "topk"])
"""Operators that return values first: which of equal ones was chosen shows only in the places returned with them."""
CLAMPS = frozenset(["clamp", "clip", "hardtanh"])
ROUNDERS = CONVERTING | VIEWS | {"ceil", "floor", "round", "trunc"}
"""Operators that leave numbers where they are, nearly: between two whole numbers that bound them."""
LONGEST = {"scatter": 4, "index_put": 3}
"""Arguments up to which an operator moves values; one more says that it adds."""


@dataclass(frozen=True, kw_only=True)
class ValuesChoice:
    """An output that holds places of values."""

    dim: int
    """Along which these lie."""
    source: int | None
    """Which tensor argument of `forward` they lie in; None for an intermediate result."""
    values: int | None
    """Which output holds the values themselves; None where none does."""


def exact_outputs(analysis: ProblemAnalysis) -> frozenset[int]:
    """The outputs whose values are those of inputs or constants, or whole numbers that say where these are or how they
    compare: every operator on their path moves, selects or compares, in one dtype, and for whole numbers promises which
    of equal values counts."""
    paths = _Paths(analysis)
    return frozenset(index for index, name in enumerate(analysis.outputs) if paths.is_exact(name))


def only_moves(analysis: ProblemAnalysis) -> bool:
    """Whether the graph computes nothing: all that becomes of the inputs' floats is that they lie elsewhere."""
    return bool(exact_outputs(analysis)) and all(
        base_name(item.target) in REARRANGING for item in analysis.operators if any(map(_is_rounded, item.outputs))
    )


def settles_ties(analysis: ProblemAnalysis) -> bool:
    """Whether every operator that may choose among equal values promises which one counts, or only its values are used,
    and is given values as the inputs hold them, which no rounding makes equal."""
    paths = _Paths(analysis)
    choosers = [item for item in analysis.operators if base_name(item.target) in CHOOSERS]
    return bool(choosers) and all(
        (_is_settled(item) or paths.gives_values(item)) and all(map(paths.is_exact, _operands(item)))
        for item in choosers
    )


def chooses_computed(analysis: ProblemAnalysis) -> bool:
    """Whether values are chosen that are computed: terms that all have in common may drown in float64 what
    distinguishes them."""
    paths = _Paths(analysis)
    chosen = [item for item in analysis.operators if base_name(item.target) in CHOOSERS | {"argmin", "argmax"}]
    return any(not paths.is_exact(name) for item in chosen for name in _operands(item))


def only_compares_whole(analysis: ProblemAnalysis) -> bool:
    """Whether all that becomes of the inputs' whole numbers is that they are moved, selected or compared with others,
    as whole numbers of one dtype. False where nothing is known."""
    if not analysis.operators or COUNTING.intersection(base_name(item.target) for item in analysis.operators):
        return False
    followed = {spec.name for spec in analysis.inputs if _is_whole(spec)}
    held = {spec.name for spec in (*analysis.parameters, *analysis.constants) if _is_whole(spec) and spec.elements > 1}
    for item in analysis.operators:
        operands = set(_operands(item))
        whole = {spec.name for spec in item.outputs if _is_whole(spec)}
        if not followed & operands:
            held |= whole
            continue
        if held & operands:
            return False  # what they are compared with may be places
        if base_name(item.target) not in MOVERS or any(map(_is_rounded, item.outputs)):
            return False
        followed |= whole
    return True


def is_clamped(analysis: ProblemAnalysis, item: Operator) -> bool:
    """Whether what an operator is given has been clamped from both sides, and only rounded since: then no conversion
    overflows."""
    if base_name(item.target) not in ROUNDERS:
        return False
    makers = {spec.name: one for one in analysis.operators for spec in one.outputs}
    while (operands := _operands(item)) and operands[0] in makers:
        item = makers[operands[0]]
        if base_name(item.target) in CLAMPS:
            numbers = [one for one in item.arguments if isinstance(one, int | float)]
            return len(numbers) == 2 or base_name(item.target) == "hardtanh"
        if base_name(item.target) not in ROUNDERS:
            return False
    return False


def choices(analysis: ProblemAnalysis) -> dict[int, ValuesChoice]:
    """The outputs that hold places of values, where equal ones may be chosen in any order."""
    named = [spec.name for spec in analysis.inputs]
    found = {}
    for item in analysis.operators:
        name, places = base_name(item.target), [spec for spec in item.outputs if spec.dtype == "int64"]
        source = item.arguments[0] if item.arguments else None
        if name not in CHOICES or len(places) != 1 or places[0].name not in analysis.outputs or _is_stable(item):
            continue
        values = next((spec.name for spec in item.outputs if spec is not places[0]), None)
        dim = _dimension(item, CHOICES[name])
        if dim is None or not isinstance(source, ValueRef):
            continue
        found[analysis.outputs.index(places[0].name)] = ValuesChoice(
            dim=dim,
            source=named.index(source.ref) if source.ref in named else None,
            values=analysis.outputs.index(values) if values in analysis.outputs else None,
        )
    return found


class _Paths:
    """The graph, from its results back."""

    def __init__(self, analysis: ProblemAnalysis) -> None:
        self._makers = {spec.name: item for item in analysis.operators for spec in item.outputs}
        given = (*analysis.inputs, *analysis.parameters, *analysis.constants)
        made = (spec for item in analysis.operators for spec in item.outputs)
        self._specs: dict[str, TensorSpec] = {spec.name: spec for spec in (*given, *made)}
        self._used = {*analysis.outputs, *(name for item in analysis.operators for name in _operands(item))}

    def is_exact(self, output: str) -> bool:
        """Whether all operators on the path to an output are exact."""
        if output not in self._specs:
            return False
        is_settled = not _is_rounded(self._specs[output])
        left, seen = [output], set[str]()
        while left:
            name = left.pop()
            if name in seen:
                continue
            seen.add(name)
            item = self._makers.get(name)
            if item is None:
                if name not in self._specs:
                    return False
                continue
            operands = _operands(item)
            if not self._is_mover(item, operands):
                return False
            if is_settled and not (_is_settled(item) or _is_value(item, name)):
                return False
            left += operands
        return True

    def gives_values(self, item: Operator) -> bool:
        """Whether nothing but the values of an operator is used that may choose among equal ones."""
        return all(_is_value(item, spec.name) for spec in item.outputs if spec.name in self._used)

    def _is_mover(self, item: Operator, operands: list[str]) -> bool:
        """Whether an operator gives values of its operands as they are, or counts in whole numbers."""
        known = [self._specs[name] for name in operands if name in self._specs]
        rounded = {spec.dtype for spec in (*known, *item.outputs) if _is_rounded(spec)}
        if len(known) < len(operands):
            return False
        name = base_name(item.target)
        if name == "dropout":
            return len(item.arguments) > 2 and item.arguments[2] is False
        if len(item.arguments) > LONGEST.get(name, len(item.arguments)) or "reduce" in dict(item.keywords):
            return False
        return not rounded or (len(rounded) == 1 and name in MOVERS)


def _is_rounded(spec: TensorSpec) -> bool:
    return "float" in spec.dtype or "complex" in spec.dtype


def _is_whole(spec: TensorSpec) -> bool:
    return "int" in spec.dtype


def _references(arguments: tuple[Argument, ...]) -> Iterator[str]:
    for argument in arguments:
        if isinstance(argument, ValueRef):
            yield argument.ref
        elif isinstance(argument, tuple):
            yield from _references(argument)


def _operands(item: Operator) -> list[str]:
    return list(_references((*item.arguments, *(value for _, value in item.keywords))))


def _is_settled(item: Operator) -> bool:
    """Whether an operator that may choose among equal values promises which one counts."""
    return base_name(item.target) not in UNSETTLED or _is_stable(item)


def _is_value(item: Operator, name: str) -> bool:
    """Whether this output of an operator holds the values that it chooses."""
    return base_name(item.target) in VALUED and name == item.outputs[0].name


def _is_stable(item: Operator) -> bool:
    """Whether equal values have to stay in their order."""
    return item.target.endswith(".stable") and (
        dict(item.keywords).get("stable") is True or (len(item.arguments) > 1 and item.arguments[1] is True)
    )


def _dimension(item: Operator, position: int) -> int | None:
    """The dimension that an operator chooses along; None where it chooses among all elements."""
    position += item.target.endswith(".stable")
    given = item.arguments[position] if len(item.arguments) > position else dict(item.keywords).get("dim", -1)
    if base_name(item.target) == "median" and not item.target.endswith(".dim"):
        return None
    return given if isinstance(given, int) else None
