"""Library operators on the hot path, in any spelling: a kernel's work may not be done by them.

What counts is that an operator is named, not that a call of it can be seen: `torch.mm` may be called, mapped, be put
into a list, or be kept in an attribute that `forward` reads. The matrix product has further names (`@`, `@=`,
`__matmul__`, `operator.matmul`), and a name may be a text that is written in pieces. What no reader sees is found when
it runs (`workers.referee.gates.checks.attribution`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from workers.referee.screen.compiled_handles import Handles
from workers.referee.screen.python_module import written_text
from workers.referee.screen.rules import (
    CHEAP_IN_NUMPY,
    CHEAP_OPERATORS,
    HARMLESS_LAYERS,
    HEAVY,
    LIBRARY_ALIASES,
    Remark,
    permitted,
)

FUNCTIONAL = ("torch.nn.functional.", "torch.special.", "torch.linalg.", "torch.fft.")
PRODUCTS = frozenset({"__matmul__", "__rmatmul__", "__imatmul__"})
PRODUCT_FUNCTIONS = frozenset(
    f"{module}.{name}" for module in ("operator", "_operator") for name in ("matmul", "imatmul", *PRODUCTS)
)
NO_LAYERS = frozenset({"Module", "Parameter", "Buffer", "UninitializedParameter", "UninitializedBuffer"})
"""Classes of `torch.nn` that compute nothing, in addition to harmless layers."""


class LibraryUse:
    """What one module's hot functions name of the library."""

    def __init__(
        self,
        tree: ast.Module,
        hot: Sequence[ast.FunctionDef],
        library: frozenset[str],
        handles: Handles,
        resolve: Callable[[ast.expr], str | None],
        names: Callable[[ast.expr], set[str] | None],
    ) -> None:
        """`library` names the operators that are permitted; `resolve` gives the dotted name of what is imported,
        `names` all texts that an expression can stand for."""
        self._tree, self._hot, self._library = tree, hot, library
        self._handles, self._resolve, self._names = handles, resolve, names
        self._tensors = {name for function in hot for name in self._certain_tensors(function)}
        nodes = list(ast.walk(tree))
        self._called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
        self._asked = {id(part) for node in nodes if _is_question(node) for part in ast.walk(node)}
        """Nodes that only ask what something is."""
        self._given = {
            id(value)
            for node in nodes
            if isinstance(node, ast.Call) and (handles.is_kernel(node.func) or _is_number(node.func))
            for value in [*node.args, *(one.value for one in node.keywords)]
        }
        """What kernels are given: a number of an object, never a method of it."""

    def remarks(self) -> Iterator[Remark]:
        """Every use of the library on the hot path."""
        carriers = dict(self._carriers())
        for function in self._hot:
            for node in ast.walk(function):
                if id(node) in self._asked:
                    continue
                yield from self._product(node)
                yield from self._named(node)
                yield from self._kept(node, carriers)
                yield from self._computed(node)

    def _product(self, node: ast.AST) -> Iterator[Remark]:
        """The matrix product by another name."""
        if permitted("matmul", self._library):
            return
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.MatMult):
            sign = "@" if isinstance(node, ast.BinOp) else "@="
            yield _hard(node, f"`{sign}` is the library's matrix product")
        name = _attribute_of(node)[1]
        dotted = self._resolve(node) if isinstance(node, ast.Attribute | ast.Name) else None
        if dotted in PRODUCT_FUNCTIONS or (name in PRODUCTS and not self._is_own(_attribute_of(node)[0])):
            yield _hard(node, f"`{dotted or '.' + str(name)}` is the library's matrix product")

    def _named(self, node: ast.AST) -> Iterator[Remark]:
        """An operator that is called, or handed on as a value."""
        if isinstance(node, ast.MatchClass) and (self._resolve(node.cls) or "").startswith("torch."):
            for name in node.kwd_attrs:
                if name in HEAVY and not permitted(name, self._library):
                    yield _hard(node, f"`.{name}` does the work by a library call")
        said = self._operator(node)
        if said is not None:
            yield _hard(node, f"`{said}` does the work by a library call")
        layer = self._layer(node)
        if layer is not None:
            yield _hard(node, f"`{layer}` does the work by a library call")

    def _operator(self, node: ast.AST) -> str | None:
        """What an operator is called that a node names; None where it names none, or a permitted one."""
        thing, name = _attribute_of(node)
        dotted = self._resolve(node) if isinstance(node, ast.Name | ast.Attribute) else None
        if dotted is None and thing is not None and (base := self._resolve(thing)) is not None:
            dotted = f"{base}.{name}"
        if dotted is not None:
            return dotted if self._is_work(dotted, is_called=id(node) in self._called) else None
        if thing is None or name is None or _plain(name) not in HEAVY or permitted(_plain(name), self._library):
            return None
        if id(node) in self._called or not isinstance(node, ast.Attribute):
            return f".{name}" if self._may_be_tensor(thing) else None
        is_handed_on = isinstance(node.ctx, ast.Load) and id(node) not in self._given and self._is_tensor(thing)
        return f".{name}" if is_handed_on else None

    def _is_work(self, dotted: str, *, is_called: bool) -> bool:
        """Whether a function of a library is one that does a kernel's work."""
        operator = _plain(dotted.rsplit(".", 1)[-1])
        if permitted(operator, self._library) or operator.endswith("Error"):
            return False  # an exception computes nothing
        if dotted.startswith("numpy."):
            return operator not in CHEAP_IN_NUMPY if is_called else operator in LIBRARY_ALIASES["matmul"]
        if dotted.startswith(FUNCTIONAL):
            return operator not in CHEAP_OPERATORS | {"pad"} and (is_called or operator[:1].islower())
        return operator in HEAVY and dotted.startswith("torch.")

    def _computed(self, node: ast.AST) -> Iterator[Remark]:
        """`getattr` of a tensor with a name that is not written out, unless all that it can be is."""
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr"):
            return
        if len(node.args) < 2 or written_text(node.args[1]) is not None or not self._is_tensor(node.args[0]):
            return
        names = self._names(node.args[1])
        if names is None or any(_plain(name) in HEAVY and not permitted(_plain(name), self._library) for name in names):
            yield _hard(node, "`getattr` of a tensor with a computed name hides what is called")

    def _layer(self, node: ast.AST) -> str | None:
        """A layer of PyTorch's that is made, or asked for a method, on the hot path."""
        dotted = self._resolve(node) if isinstance(node, ast.Name | ast.Attribute) else None
        parts = (dotted or "").split(".")
        if parts[:2] != ["torch", "nn"] or len(parts) < 3 or not parts[2][:1].isupper():
            return None
        if parts[2] in HARMLESS_LAYERS | NO_LAYERS or permitted(parts[2].lower(), self._library):
            return None
        return dotted

    def _carriers(self) -> Iterator[tuple[str, str]]:
        """Names and attributes that are given a library operator or layer off the hot path, with what they hold."""
        inside = {id(node) for function in self._hot for node in ast.walk(function)}
        for node in ast.walk(self._tree):
            if not isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) or id(node) in inside:
                continue
            held = None if node.value is None else self._held(node.value)
            if held is None:
                continue
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                while isinstance(target, ast.Subscript):
                    target = target.value
                if isinstance(target, ast.Attribute | ast.Name):
                    yield (target.attr if isinstance(target, ast.Attribute) else target.id), held

    def _held(self, value: ast.expr) -> str | None:
        """The operator or layer that is in a value."""
        if isinstance(value, ast.Call):
            dotted = self._resolve(value.func)
            if dotted is not None and dotted.startswith("torch.nn.") and not dotted.startswith("torch.nn.Parameter"):
                layer = dotted.rsplit(".", 1)[-1]
                is_none = layer in HARMLESS_LAYERS or permitted(layer.lower(), self._library)
                return None if is_none or dotted.startswith(FUNCTIONAL) else dotted
        for node in ast.walk(value):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult) and isinstance(value, ast.Lambda):
                return None if permitted("matmul", self._library) else "@"
            is_value = id(node) not in self._called and isinstance(node, ast.Attribute | ast.Name)
            dotted = self._resolve(node) if is_value and isinstance(node, ast.Attribute | ast.Name) else None
            if dotted in PRODUCT_FUNCTIONS:
                return None if permitted("matmul", self._library) else dotted
            said = self._operator(node) if dotted is not None or isinstance(value, ast.Lambda) else None
            if said is not None:
                return said
        return None

    def _kept(self, node: ast.AST, carriers: dict[str, str]) -> Iterator[Remark]:
        """A read of something that holds an operator or a layer."""
        name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)
        if name not in carriers or not isinstance(getattr(node, "ctx", None), ast.Load):
            return
        held = carriers[name]
        is_layer = held.startswith("torch.nn.") and not held.startswith(FUNCTIONAL)
        if is_layer and not (isinstance(node, ast.Attribute) and id(node) in self._called):
            return
        if isinstance(node, ast.Name) and self._resolve(node) is not None:  # an alias, whose meaning is known
            return
        if isinstance(node, ast.Name) or self._is_own(node.value):  # type: ignore[attr-defined]
            shown = name if isinstance(node, ast.Name) else ast.unparse(node)
            yield _hard(node, f"`{shown}` is `{held}`: it does the work by a library call")

    def _certain_tensors(self, function: ast.FunctionDef) -> Iterator[str]:
        """Names that stand for tensors: arguments of `forward`, and results of torch's functions."""
        if function.name == "forward":
            yield from (one.arg for one in function.args.args if one.arg not in ("self", "cls", "ctx"))
        for node in ast.walk(function):
            if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
                continue
            if (self._resolve(node.value.func) or "").startswith("torch."):
                yield from (one.id for one in node.targets if isinstance(one, ast.Name))

    def _is_tensor(self, thing: ast.expr) -> bool:
        return isinstance(thing, ast.Name) and thing.id in self._tensors and self._may_be_tensor(thing)

    def _may_be_tensor(self, thing: ast.expr) -> bool:
        """Whether something may be a tensor, rather than a kernel handle or the module's own."""
        if isinstance(thing, ast.Name) and thing.id == "self":
            return False
        if self._handles.is_own_object(thing):
            return False
        return not self._handles.is_kernel(thing) and not self._handles.is_plain(thing)

    def _is_own(self, thing: ast.expr | None) -> bool:
        is_self = isinstance(thing, ast.Name) and thing.id in ("self", "cls")
        return thing is not None and (is_self or self._handles.is_own_object(thing))


def _attribute_of(node: ast.AST) -> tuple[ast.expr | None, str | None]:
    """The object and name of an attribute, also by `getattr` with a text that is written out, be it in pieces."""
    if isinstance(node, ast.Attribute):
        return node.value, node.attr
    is_read = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr"
    if is_read and isinstance(node, ast.Call) and len(node.args) > 1:
        return node.args[0], written_text(node.args[1])
    return None, None


def _plain(name: str) -> str:
    """An operator's name without what says that it works in place."""
    return name if name.startswith("_") else name.rstrip("_")


def _is_question(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in ("isinstance", "issubclass", "hasattr")
    return isinstance(node, ast.arg) or (isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Is | ast.IsNot))


def _is_number(function: ast.expr) -> bool:
    return isinstance(function, ast.Name) and function.id in ("int", "float", "bool", "str", "len", "print")


def _hard(node: ast.AST, text: str) -> Remark:
    return Remark(line=getattr(node, "lineno", 1), text=text, hard=True)
