"""Reads by `getattr` whose name is computed, and which hide nothing all the same.

Either every name that is read is written out (the loop is over a tuple of texts, or over the fields of a dataclass), or
the object can be nothing but an instance of a dataclass of the module. A name of the module stands for everything that
it is bound to anywhere, whatever the scope: a parameter of that name, or an alias, and nothing is known of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_TAMPERING = frozenset({
    "*", "__annotations__", "__dataclass_fields__", "__getattr__", "__getattribute__", "__new__", "__prepare__",
    "__set_name__", "__setattr__", "delattr", "metaclass", "setattr",
})  # fmt: skip
"""What could give a class other fields than those written out, make something else of its objects, or bind any name."""


@dataclass(frozen=True)
class _Binding:
    """What a name is bound to: `is` a value, each `in` what is looped over, an `import`, a `class`, or `other`."""

    kind: str
    node: ast.AST | None = None
    dotted: str = ""


class KnownReads:
    """What is known of one module's names."""

    def __init__(self, tree: ast.Module) -> None:
        self._nodes = list(ast.walk(tree))
        self._bound: dict[str, list[_Binding]] = {}
        for name, binding in self._bindings():
            self._bound.setdefault(name, []).append(binding)
        self._is_tampered = any(map(_tampers, self._nodes))
        self._fields = {
            part.target.id
            for node in self._nodes
            if isinstance(node, ast.ClassDef)
            for part in node.body
            if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
        }
        self._plain = {node.name for node in tree.body if isinstance(node, ast.ClassDef) and self._is_plain(node)}

    def is_own_instance(self, thing: ast.expr) -> bool:
        """Whether an expression can be nothing but an instance of a dataclass of the module."""
        if self._is_tampered or not isinstance(thing, ast.Name):
            return False
        values = list(self._values(thing.id))
        return bool(values) and all(map(self._makes_own, values))

    def names(self, key: ast.expr, depth: int = 0) -> set[str] | None:
        """All names that an expression can stand for; None where they are not written out."""
        if self._is_tampered or depth > 4:
            return None
        if isinstance(key, ast.Constant):
            return {key.value} if isinstance(key.value, str) else None
        if isinstance(key, ast.Attribute):
            return self._fields if self._plain and key.attr == "name" and self._is_field(key.value) else None
        if not isinstance(key, ast.Name):
            return None
        found: set[str] = set()
        for value in self._values(key.id):
            names = None if value is None else self.names(value, depth + 1)
            if names is None:
                return None
            found |= names
        return found or None

    def _values(self, name: str) -> Iterator[ast.expr | None]:
        """What a name may stand for; None for what is not written out."""
        for binding in self._bound.get(name, [_Binding("other")]):
            if binding.kind == "is" and isinstance(binding.node, ast.expr):
                yield binding.node
            elif binding.kind == "in" and isinstance(binding.node, ast.expr):
                yield from self._parts(binding.node)
            else:
                yield None

    def _parts(self, iterated: ast.expr) -> Iterator[ast.expr | None]:
        """What a loop goes over, also where that is a name for nothing but tuples."""
        bindings = self._bound.get(iterated.id, []) if isinstance(iterated, ast.Name) else []
        named = [one.node if one.kind == "is" else None for one in bindings]
        if isinstance(iterated, ast.Tuple | ast.List | ast.Set):
            yield from iterated.elts
        elif named and all(isinstance(one, ast.Tuple) for one in named):
            yield from (part for one in named if isinstance(one, ast.Tuple) for part in one.elts)
        else:
            yield None

    def _is_field(self, node: ast.expr) -> bool:
        """Whether an expression can be nothing but a field that `dataclasses.fields` gave."""
        bindings = self._bound.get(node.id, []) if isinstance(node, ast.Name) else []
        return bool(bindings) and all(
            binding.kind == "in"
            and isinstance(binding.node, ast.Call)
            and self._dotted(binding.node.func) == "dataclasses.fields"
            for binding in bindings
        )

    def _makes_own(self, value: ast.expr | None) -> bool:
        return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in self._plain

    def _is_plain(self, node: ast.ClassDef) -> bool:
        """Whether a class is a dataclass of its own fields and methods, and its name means nothing else."""
        if node.bases or node.keywords or not node.decorator_list or len(self._bound[node.name]) != 1:
            return False
        makers = [one.func if isinstance(one, ast.Call) else one for one in node.decorator_list]
        return all(self._dotted(one) == "dataclasses.dataclass" for one in makers) and all(map(_is_ordinary, node.body))

    def _dotted(self, node: ast.expr) -> str | None:
        """The dotted name of what is imported, where its name means nothing else."""
        if isinstance(node, ast.Attribute):
            base = self._dotted(node.value)
            return f"{base}.{node.attr}" if base else None
        bindings = self._bound.get(node.id, []) if isinstance(node, ast.Name) else []
        meanings = {binding.dotted for binding in bindings}
        return meanings.pop() if len(meanings) == 1 and bindings[0].kind == "import" else None

    def _bindings(self) -> Iterator[tuple[str, _Binding]]:
        followed: set[int] = set()
        for node in self._nodes:
            for target, binding in _followed(node):
                followed.add(id(target))
                yield target.id, binding
        for node in self._nodes:
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and id(node) not in followed:
                yield node.id, _Binding("other")
            yield from _declared(node)


def _followed(node: ast.AST) -> Iterator[tuple[ast.Name, _Binding]]:
    """Names that a statement gives a value of their own."""
    if isinstance(node, ast.Assign):
        yield from ((one, _Binding("is", node.value)) for one in node.targets if isinstance(one, ast.Name))
    elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and isinstance(node.target, ast.Name):
        if node.value is not None:
            yield node.target, _Binding("is", node.value)
    elif isinstance(node, ast.For | ast.comprehension) and isinstance(node.target, ast.Name):
        yield node.target, _Binding("in", node.iter)


def _declared(node: ast.AST) -> Iterator[tuple[str, _Binding]]:
    """Names that are bound without being a `Name`."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            root = alias.name.split(".")[0]
            yield alias.asname or root, _Binding("import", dotted=alias.name if alias.asname else root)
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name, _Binding("import", dotted=f"{node.module}.{alias.name}")
    elif isinstance(node, ast.ClassDef):
        yield node.name, _Binding("class", node)
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield node.name, _Binding("other")
    elif isinstance(node, ast.arg):
        yield node.arg, _Binding("other")
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
        yield node.name, _Binding("other")
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest, _Binding("other")


def _is_ordinary(part: ast.stmt) -> bool:
    """Of a class's body: a field, a text or a method that Python does not call by itself."""
    if isinstance(part, ast.FunctionDef):
        return not part.name.startswith("__") or part.name == "__post_init__"
    if isinstance(part, ast.AnnAssign):
        return isinstance(part.target, ast.Name) and not part.target.id.startswith("__")
    return isinstance(part, ast.Pass) or (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))


def _tampers(node: ast.AST) -> bool:
    name = getattr(node, "id", None) or getattr(node, "attr", None) or getattr(node, "arg", None)
    if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load) and node.attr in ("name", "__class__"):
        return True
    return name in _TAMPERING or (isinstance(node, ast.FunctionDef | ast.alias) and node.name in _TAMPERING)
