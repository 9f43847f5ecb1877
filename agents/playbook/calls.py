"""One operator's call as the rules see it, and the register of rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agents.playbook.builder import Builder
from agents.playbook.errors import NoTemplateError
from agents.playbook.nodes import Node
from agents.playbook.sizes import Poly, poly
from services.domain.problems import Argument, Operator, ValueRef

SUPPORTED = frozenset(("float32", "float64", "bfloat16", "float16", "int64", "int32", "int16", "int8", "uint8", "bool"))


Value = Node | tuple[Node, ...]


class OperatorCall:
    """One operator's arguments, by position or name."""

    def __init__(
        self,
        item: Operator,
        values: dict[str, Node],
        builder: Builder,
        followed: Mapping[int | str, Node] | None = None,
        lengths: Mapping[int | str, Callable[[], Poly | None]] | None = None,
    ) -> None:
        """`followed`: arguments that follow a size, by position or keyword, as the nodes that compute them; `lengths`:
        what gives them as sizes, where they are."""
        self.item = item
        self.taken: set[int | str] = set()
        """Which of those were asked for as nodes or sizes; another one is built in as the trace had it."""
        self._followed = followed or {}
        self._lengths = lengths or {}
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

    def size(self, position: int, name: str, default: int = 0) -> Poly:
        """A whole number that may follow the inputs' sizes."""
        key: int | str = position if position < len(self.item.arguments) else name
        length = self._lengths[key]() if key in self._lengths else None
        if length is None:
            return poly(int(self.number(position, name, default)))
        self.taken.add(key)
        return length

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


Rule = Callable[[OperatorCall], Value]


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
