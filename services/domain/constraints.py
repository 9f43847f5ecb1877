"""What a problem's author promises of the arguments: `CONSTRAINTS = {"x": {"shape": {0: "multiple of 64"}}, …}`.

A kernel may rely on it, so nothing else is tried, and every report says so. The line is read from the problem's text,
never from what its code makes of it: who reads the problem sees all that is promised.
"""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass

from services.domain.python_source import parsed

NAME = "CONSTRAINTS"
FIXED = "fixed"
MOST_ARGUMENTS = 64
MOST_DIMENSIONS = 64
LARGEST_MULTIPLE = 1 << 20
REMEDY = (
    'Write CONSTRAINTS = {"x": {"shape": {0: "multiple of 64", -1: "even", 1: "fixed"}, "range": (0.0, 1.0)}, '
    '"mask": "fixed"}: parameters of Model.forward by name. An end of a range may be None.'
)
_MULTIPLE = re.compile(r"multiple of ([1-9][0-9]{0,6})")


class ConstraintError(ValueError):
    """A value states no constraints. The message says what is wrong."""


@dataclass(frozen=True, kw_only=True)
class ArgumentConstraint:
    """What is promised of one argument of `forward`, and of every tensor and number in it."""

    name: str
    fixed: bool = False
    """Whether it is the same in every call of an input set."""
    fixed_shape: bool = False
    """Whether its tensors have the same sizes in every input set."""
    sizes: tuple[tuple[int, int], ...] = ()
    """Dimensions, counted from the end where negative, with what their sizes are multiples of; 0 for a fixed size."""
    low: float | None = None
    """The least value; None where there is none."""
    high: float | None = None
    """The largest value; None where there is none."""

    @property
    def has_range(self) -> bool:
        """Whether an end of the values is known."""
        return self.low is not None or self.high is not None

    @property
    def has_sizes(self) -> bool:
        """Whether something is known of sizes."""
        return self.fixed_shape or bool(self.sizes)

    def step(self, dimension: int, rank: int) -> int:
        """What the size of a dimension of a tensor is a multiple of; 0 where it is fixed, 1 where nothing is known."""
        if self.fixed_shape:
            return 0
        steps = [step for place, step in self.sizes if place in (dimension, dimension - rank)]
        return 0 if 0 in steps else math.lcm(*steps)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The promises, one sentence each, without a full stop."""
        if self.fixed:
            return (f"`{self.name}` is fixed by the problem",)
        found = [f"the shape of `{self.name}` is fixed by the problem"] if self.fixed_shape else []
        for place, step in self.sizes:
            found.append(f"dimension {place} of `{self.name}` is {_in_words(step)} by the problem")
        if self.low is not None and self.high is not None:
            found.append(f"values of `{self.name}` lie between {self.low:g} and {self.high:g} by the problem")
        elif self.low is not None:
            found.append(f"values of `{self.name}` are {self.low:g} or more by the problem")
        elif self.high is not None:
            found.append(f"values of `{self.name}` are {self.high:g} or less by the problem")
        return tuple(found)


Constraints = tuple[ArgumentConstraint, ...]


def sentences(constraints: Constraints) -> tuple[str, ...]:
    """What is promised of all arguments, in order."""
    return tuple(text for one in constraints for text in one.sentences)


def parse(value: object) -> Constraints:
    """The constraints that a dict states. Raises `ConstraintError`."""
    if not isinstance(value, dict):
        raise ConstraintError(f"{NAME} is not a dict")
    if len(value) > MOST_ARGUMENTS:
        raise ConstraintError(f"{NAME} names {len(value)} arguments; {MOST_ARGUMENTS} are allowed")
    return tuple(_argument(name, entry) for name, entry in value.items())


def check_names(constraints: Constraints, names: tuple[str, ...]) -> None:
    """Raise `ConstraintError` for an argument that is no parameter of `Model.forward`."""
    for one in constraints:
        if one.name not in names:
            known = ", ".join(f"`{name}`" for name in names) or "none"
            raise ConstraintError(f"{NAME} names `{one.name}`, which is no parameter of Model.forward ({known})")


def of_source(source: str) -> tuple[Constraints, int | None]:
    """The constraints that a problem's text states, and their line; none where the text cannot be parsed.

    Raises `ConstraintError` where they are not written out, at the top level, once."""
    if NAME not in source:
        return (), None
    try:
        tree = parsed(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return (), None  # told elsewhere, with the place
    line = line_of(tree)
    if line is None:
        return (), None
    uses = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == NAME]
    node = next((one for one in tree.body if _binds(one)), None)
    if node is None or len(uses) > 1:
        raise ConstraintError(f"{NAME} is not one assignment at the top level")
    try:
        value = ast.literal_eval(node.value)  # type: ignore[attr-defined]
    except (ValueError, TypeError, MemoryError, RecursionError, SyntaxError):
        raise ConstraintError(f"{NAME} is not written out as plain data") from None
    return parse(value), line


def line_of(tree: ast.Module) -> int | None:
    """The first line of a problem's text that names its constraints; None where none does."""
    lines = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == NAME]
    return min(lines, default=None)


def written(constraints: Constraints) -> str:
    """The line of a problem that states these constraints."""
    return f"{NAME} = { ({one.name: _entry(one) for one in constraints})!r}"


def _entry(one: ArgumentConstraint) -> object:
    if one.fixed:
        return FIXED
    words = {0: FIXED, 2: "even"}
    shape = FIXED if one.fixed_shape else {place: words.get(step, f"multiple of {step}") for place, step in one.sizes}
    return {**({"shape": shape} if shape else {}), **({"range": (one.low, one.high)} if one.has_range else {})}


def _binds(node: ast.stmt) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    plain = isinstance(node, ast.Assign) or (isinstance(node, ast.AnnAssign) and node.value is not None)
    return plain and len(targets) == 1 and isinstance(targets[0], ast.Name) and targets[0].id == NAME


def _argument(name: object, entry: object) -> ArgumentConstraint:
    if not isinstance(name, str) or not name.isidentifier():
        raise ConstraintError(f"{NAME} has a key that is no parameter's name: {_shown(name)}")
    if entry == FIXED:
        return ArgumentConstraint(name=name, fixed=True)
    if not isinstance(entry, dict) or not entry or not set(entry) <= {"shape", "range"}:
        known = 'neither "fixed" nor a dict of "shape" and "range"'
        raise ConstraintError(f"`{name}` of {NAME} is {known}: {_shown(entry)}")
    low, high = _range(name, entry["range"]) if "range" in entry else (None, None)
    if entry.get("shape") == FIXED:
        return ArgumentConstraint(name=name, fixed_shape=True, low=low, high=high)
    sizes = _sizes(name, entry["shape"]) if "shape" in entry else ()
    return ArgumentConstraint(name=name, sizes=sizes, low=low, high=high)


def _sizes(name: str, value: object) -> tuple[tuple[int, int], ...]:
    if not isinstance(value, dict) or not value:
        raise ConstraintError(f'the shape of `{name}` is neither "fixed" nor a dict of dimensions: {_shown(value)}')
    found = []
    for place, text in value.items():
        if type(place) is not int or not -MOST_DIMENSIONS <= place < MOST_DIMENSIONS:
            raise ConstraintError(f"the shape of `{name}` has a key that is no dimension: {_shown(place)}")
        found.append((place, _step(name, place, text)))
    return tuple(found)


def _step(name: str, place: int, text: object) -> int:
    if text == FIXED:
        return 0
    if text == "even":
        return 2
    match = _MULTIPLE.fullmatch(text) if isinstance(text, str) else None
    if match is None or int(match.group(1)) > LARGEST_MULTIPLE:
        raise ConstraintError(
            f'dimension {place} of `{name}` is not "fixed", "even" or "multiple of N": {_shown(text)}'
        )
    return int(match.group(1))


def _range(name: str, value: object) -> tuple[float | None, float | None]:
    if not isinstance(value, tuple | list) or len(value) != 2 or not all(_is_end(end) for end in value):
        raise ConstraintError(f"the range of `{name}` is not two numbers: {_shown(value)}")
    low, high = value
    if low is None and high is None:
        raise ConstraintError(f"the range of `{name}` has no end")
    if low is not None and high is not None and low > high:
        raise ConstraintError(f"the range of `{name}` ends before it begins: {_shown(value)}")
    return low, high


def _is_end(value: object) -> bool:
    if value is None:
        return True
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _in_words(step: int) -> str:
    return {0: "fixed", 2: "even"}.get(step, f"a multiple of {step}")


def _shown(value: object) -> str:
    return repr(value)[:80]
