"""Names that a module speaks of in a way that hides what is called: by texts, patterns and built-in functions' values.

Every attribute that begins and ends with two underscores and is not what kernels use is refused, wherever it is named:
written out, in a pattern of `match`, in the field of a text that is formatted, among a class's own names. What takes a
name as a text (`getattr`) may be called with that text written out, and never handed on.
"""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator
from dataclasses import dataclass, field

from workers.referee.screen.rules import BANNED_ATTRIBUTES, BANNED_CALLS

_OPERATORS = (
    "abs add and bool call ceil complex contains delitem divmod enter eq exit float floor floordiv ge getitem gt hash "
    "iadd iand ifloordiv ilshift imatmul imod imul index int invert ior ipow irshift isub iter itruediv ixor le len "
    "length_hint lshift lt matmul missing mod mul ne neg next or pos pow radd rand rdivmod repr reversed rfloordiv "
    "rlshift rmatmul rmod rmul ror round rpow rrshift rshift rsub rtruediv rxor setitem str sub truediv trunc xor "
    "aenter aexit aiter anext await bytes copy deepcopy format del get set set_name delete"
)
_OTHERS = (
    "all annotations array array_interface array_priority class class_getitem cuda_array_interface cuda_stream "
    "dataclass_fields dlpack dlpack_device doc file getattr init init_subclass instancecheck constants match_args "
    "metaclass module name new post_init prepare qualname setattr slots version debug author license copyright "
    "future_annotations"
)
PERMITTED_DUNDERS = frozenset(f"__{name}__" for name in (*_OPERATORS.split(), *_OTHERS.split()))
_OF_SUPER = frozenset({"__getattr__", "__setattr__", "__init_subclass__"})
"""Read from `super()` alone, or of `object` with `self` first: on others they do what `getattr` and `setattr` do."""
PUBLIC_THOUGH_PRIVATE = frozenset({
    "_asdict", "_replace", "_fields", "_make", "_version", "_parameters", "_buffers", "_modules", "_base", "_is_view",
    "_use_count", "_nnz", "_indices", "_values",
})  # fmt: skip
"""Private names of named tuples, tensors, their storages and modules that kernels do use."""
_PRIVATE = re.compile(r"\b_[a-zA-Z]\w*")
BY_TEXT = frozenset(BANNED_CALLS) | {"getattr", "__build_class__"}
_OFTEN_OWN = frozenset({"input", "exit", "quit"})
"""Names that modules use for something of their own."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True, kw_only=True)
class Spoken:
    """One name that is refused, where it stands and why."""

    line: int
    text: str


def spoken_names(tree: ast.Module) -> Iterator[Spoken]:
    """Everything of this kind in a module."""
    yield from _Values(tree).found
    computes_formats = any(_is_format(node) and not _is_text(node.func.value) for node in _calls(tree))  # type: ignore[attr-defined]
    own = _own_private_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and not _is_of_super(node):
            yield from _judged(node, node.attr)
            yield from _private(node, own)
        elif isinstance(node, ast.Name):
            yield from _judged(node, node.id)
        elif isinstance(node, ast.MatchClass):
            for name in node.kwd_attrs:
                yield from _judged(node, name, strictly=True)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            yield from _match_args(node)
        elif isinstance(node, ast.Call):
            yield from _call(node)
        elif computes_formats and isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from _fields(node, node.value)


def _judged(node: ast.AST, name: str, *, strictly: bool = False) -> Iterator[Spoken]:
    """A name that is on no list; `strictly` where the rules on attributes do not look."""
    line = getattr(node, "lineno", 1)
    if strictly and name in BANNED_ATTRIBUTES:
        yield Spoken(line=line, text=f"`.{name}` {BANNED_ATTRIBUTES[name]}")
    elif _is_dunder(name) and name not in PERMITTED_DUNDERS | set(BANNED_ATTRIBUTES):
        yield Spoken(line=line, text=f"`{name}` is on no list of what a kernel needs")
    elif name in _OF_SUPER and isinstance(node, ast.Attribute):
        yield Spoken(line=line, text=f"`.{name}` of something else than `super()` hides what is called")


def _private(node: ast.Attribute, own: set[str]) -> Iterator[Spoken]:
    """A private attribute of something that others made: what is behind it is not a candidate's to use. Chains that
    begin at an import are resolved elsewhere (`workers.backends.reached`)."""
    name = node.attr
    if not name.startswith("_") or _is_dunder(name) or name in own | PUBLIC_THOUGH_PRIVATE or name in BANNED_ATTRIBUTES:
        return
    base: ast.expr = node
    while isinstance(base, ast.Attribute):
        base = base.value
    if not isinstance(base, ast.Name) or base.id not in own | {"self", "cls"}:
        yield Spoken(line=node.lineno, text=f"`.{name}` is private to something that the module does not define")


def _own_private_names(tree: ast.Module) -> set[str]:
    """Private names that the module defines or gives to its objects, also by a text (`register_buffer("_table", …)`) or
    in a source (`void _run(…)`), and what it imports."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            found.add(node.attr)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found |= {node.id} if node.id.startswith("_") else set()
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= set(_PRIVATE.findall(node.value))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name.split(".")[0] for alias in node.names}
    return found


def _is_dunder(name: str) -> bool:
    return len(name) > 4 and name.startswith("__") and name.endswith("__")


def _is_of_super(node: ast.Attribute) -> bool:
    value = node.value
    if isinstance(value, ast.Call):
        return node.attr in _OF_SUPER and isinstance(value.func, ast.Name) and value.func.id == "super"
    return node.attr == "__setattr__" and isinstance(value, ast.Name) and value.id == "object"


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def _call(node: ast.Call) -> Iterator[Spoken]:
    """`object.__setattr__` on something else than `self`, a class made by a call, and fields of a text."""
    function = node.func
    if isinstance(function, ast.Name) and function.id == "type" and len(node.args) > 1:
        yield Spoken(line=node.lineno, text="`type()` with several arguments makes a class that cannot be read")
    if isinstance(function, ast.Attribute) and function.attr == "__setattr__" and _is_of_super(function):
        of_super = isinstance(function.value, ast.Call)
        is_own = bool(node.args) and isinstance(node.args[0], ast.Name) and node.args[0].id == "self"
        if not (of_super or is_own):
            yield Spoken(line=node.lineno, text="`object.__setattr__()` changes foreign objects")
    if _is_format(node):
        assert isinstance(function, ast.Attribute)
        if isinstance(function.value, ast.Constant) and isinstance(function.value.value, str):
            yield from _fields(node, function.value.value)


def _is_format(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Attribute) and node.func.attr in ("format", "format_map")


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant)


def _fields(node: ast.AST, text: str) -> Iterator[Spoken]:
    """The attributes that the fields of a text name."""
    try:
        names = [name for _, name, _, _ in string.Formatter().parse(text) if name]
    except ValueError:
        return
    for name in names:
        for part in name.replace("]", "").replace("[", ".").split(".")[1:]:
            yield from _judged(node, part, strictly=True)


def _match_args(node: ast.Assign | ast.AnnAssign) -> Iterator[Spoken]:
    """What a class says that its patterns read."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    if not any(isinstance(one, ast.Name) and one.id == "__match_args__" for one in targets):
        return
    parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
    for part in parts:
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield from _judged(node, part.value, strictly=True)
        else:
            yield Spoken(line=node.lineno, text="`__match_args__` that is not written out hides what is read")


@dataclass
class _Values:
    """Built-in functions that take a name or a source as a text, where they are values rather than called."""

    tree: ast.Module
    found: list[Spoken] = field(default_factory=list)

    def __post_init__(self) -> None:
        own = {name for name in _bound(self.tree.body) if name in _OFTEN_OWN}
        for part in self.tree.body:
            self._visit(part, frozenset(own))

    def _visit(self, node: ast.AST, bound: frozenset[str]) -> None:
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load) and node.id in BY_TEXT and node.id not in bound:
                text = f"`{node.id}` is handed on as a value: what it is called with cannot be seen"
                self.found.append(Spoken(line=node.lineno, text=text))
            return
        if isinstance(node, _FUNCTIONS):
            self._function(node, bound)
            return
        if isinstance(node, _COMPREHENSIONS):
            bound |= {name for part in node.generators for name in _stored(part.target)}
        skipped = node.func if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None
        for child in ast.iter_child_nodes(node):
            if child is not skipped or skipped.id == "__build_class__":
                self._visit(child, bound)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, bound: frozenset[str]) -> None:
        given = node.args
        arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs]
        arguments += [one for one in (given.vararg, given.kwarg) if one is not None]
        outside = [*given.defaults, *(one for one in given.kw_defaults if one is not None)]
        body = [node.body] if isinstance(node, ast.Lambda) else node.body
        if not isinstance(node, ast.Lambda):
            outside += node.decorator_list
        for part in outside:
            self._visit(part, bound)
        inside = bound | {one.arg for one in arguments} | _bound(body)
        for inner in body:
            self._visit(inner, inside)


def _bound(body: list[ast.stmt] | list[ast.expr]) -> set[str]:
    """Names that a scope binds itself: not those of functions and classes inside, nor those it says are global."""
    found: set[str] = set()
    outer: set[str] = set()
    queue: list[ast.AST] = list(body)
    while queue:
        node = queue.pop()
        if isinstance(node, ast.Global | ast.Nonlocal):
            outer |= set(node.names)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
            continue
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        if not isinstance(node, (ast.Lambda, *_COMPREHENSIONS)):
            queue.extend(ast.iter_child_nodes(node))
    return found - outer


def _stored(node: ast.expr) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
