"""The screen: reads a candidate's source (parsed, so comments and strings do not matter) before anything runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from services.domain.tunables import TunablesError, declared
from workers.referee.screen.compiled_handles import KERNEL_MAKERS, Handles
from workers.referee.screen.cpp_rules import examine_cpp
from workers.referee.screen.dynamic_names import spoken_names
from workers.referee.screen.known_reads import KnownReads
from workers.referee.screen.library_use import LibraryUse
from workers.referee.screen.python_module import (
    ENTRY,
    catches_look_up,
    ends_by_raising,
    imported_names,
    kernel_texts,
    reachable_functions,
    starts_plainly,
    without_leftovers,
    written_text,
)
from workers.referee.screen.rules import (
    BANNED_ATTRIBUTES,
    BANNED_CALLS,
    BANNED_MODULES,
    BANNED_NAMES,
    BANNED_WITH_GRADIENTS,
    GRAPH_HOOKS,
    HARMLESS_NAMES,
    HINTED_ATTRIBUTES,
    Remark,
)

MAX_SOURCE_CHARACTERS = 1_000_000
TIMERS = ("time", "timeit", "datetime")


def screen(source: str, library: frozenset[str], *, backward: bool = False) -> list[Remark]:
    """Every broken rule, evidence first, each in order of lines. Empty for a clean candidate.

    With `backward`, gradients are judged: a candidate derives them itself, and its backward is on the hot path."""
    if len(source) > MAX_SOURCE_CHARACTERS:
        return [Remark(line=1, text=f"the source has more than {MAX_SOURCE_CHARACTERS} characters", hard=True)]
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        return [Remark(line=line, text=f"syntax error: {getattr(error, 'msg', error)}", hard=True)]
    try:
        declared(source)
    except TunablesError as error:
        return [Remark(line=error.line, text=str(error), hard=True)]
    try:
        remarks = list(_Screen(tree, library, backward=backward).remarks())
    except RecursionError:
        return [Remark(line=1, text="the source is nested too deeply to be read", hard=True)]
    return sorted(set(remarks), key=lambda remark: (not remark.hard, remark.line, remark.text))


class _Screen:
    def __init__(self, tree: ast.Module, library: frozenset[str], *, backward: bool) -> None:
        self._tree = tree = without_leftovers(tree)
        self._library = library
        self._backward = backward
        self._names = imported_names(tree)
        self._excused = set(self._harmless_reads())
        """Nodes that only ask how many threads there are."""
        self._handles = Handles(tree)
        self._known = KnownReads(tree)

    def remarks(self) -> Iterator[Remark]:
        models = [n for n in ast.walk(self._tree) if isinstance(n, ast.ClassDef) and n.name == "ModelNew"]
        if not any(model in self._tree.body for model in models):
            yield Remark(line=1, text="the module defines no class ModelNew", hard=True)
            return
        for model in models:
            if not any(isinstance(node, ast.FunctionDef) and node.name == ENTRY for node in model.body):
                yield Remark(line=model.lineno, text="ModelNew defines no forward method", hard=True)
        for node in ast.walk(self._tree):
            yield from self._anywhere(node)
        for one in spoken_names(self._tree):
            yield Remark(line=one.line, text=one.text, hard=True)
        for text in kernel_texts(self._tree):
            yield from _cpp(text)
        yield from self._own_kernel()
        hot = reachable_functions(self._tree, models, backward=self._backward)
        for function in hot:
            yield from self._on_the_hot_path(function)
        yield from LibraryUse(self._tree, hot, self._library, self._handles, self._resolve, self._known.names).remarks()

    def _anywhere(self, node: ast.AST) -> Iterator[Remark]:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from self._imports(node)
        elif isinstance(node, ast.Attribute):
            yield from self._attribute(node)
        elif isinstance(node, ast.Call):
            yield from self._call(node)
        elif isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Delete):
            yield from self._assignment(node)
        elif isinstance(node, ast.Name) and node.id == "__file__":
            yield Remark(line=node.lineno, text=f"`__file__` {HINTED_ATTRIBUTES['__file__']}", hard=False)
        elif isinstance(node, ast.Name) and node.id in ("__builtins__", "__loader__", "__spec__"):
            yield _hard(node, f"`{node.id}` reaches for names the screen cannot see")

    def _imports(self, node: ast.Import | ast.ImportFrom) -> Iterator[Remark]:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            names = [f"{node.module or ''}.{alias.name}" for alias in node.names]
        for name in names:
            root = name.split(".")[0]
            if name in HARMLESS_NAMES:
                continue
            if root in TIMERS:
                yield Remark(line=node.lineno, text=f"importing `{root}`: a kernel needs no clock", hard=False)
            elif root in BANNED_MODULES:
                yield _hard(node, f"importing `{root}` {BANNED_MODULES[root]}")
            elif (reason := self._banned(name)) is not None:
                yield _hard(node, f"importing `{name}` {reason}")

    def _banned(self, dotted: str) -> str | None:
        """Why a dotted name may not be used."""
        return _banned_name(dotted) or (_banned_name(dotted, BANNED_WITH_GRADIENTS) if self._backward else None)

    def _attribute(self, node: ast.Attribute) -> Iterator[Remark]:
        if node.attr in BANNED_ATTRIBUTES:
            yield _hard(node, f"`.{node.attr}` {BANNED_ATTRIBUTES[node.attr]}")
        elif self._backward and node.attr in GRAPH_HOOKS:
            yield _hard(node, f"`.{node.attr}` {GRAPH_HOOKS[node.attr]}")
        elif node.attr in HINTED_ATTRIBUTES:
            yield Remark(line=node.lineno, text=f"`.{node.attr}` {HINTED_ATTRIBUTES[node.attr]}", hard=False)
        dotted = self._resolve(node)
        if id(node) in self._excused:
            return
        if dotted is not None and (reason := self._banned(dotted)) is not None:
            yield _hard(node, f"`{dotted}` {reason}")

    def _harmless_reads(self) -> Iterator[int]:
        """`os.environ.get("OMP_NUM_THREADS")` and the like, by the nodes that a rule would stumble over."""
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Call) and node.args and _is_harmless_variable(node.args[0]):
                if self._resolve(node.func) in ("os.environ.get", "os.getenv"):
                    yield id(node.func)
                    if isinstance(node.func, ast.Attribute):
                        yield id(node.func.value)
            elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
                yield from (id(node.value),) if _is_harmless_variable(node.slice) else ()

    def _call(self, node: ast.Call) -> Iterator[Remark]:
        name = node.func.id if isinstance(node.func, ast.Name) else None
        own = name in ("setattr", "delattr") and bool(node.args) and self._is_own(node.args[0])
        if name in BANNED_CALLS and not own:
            yield _hard(node, f"`{name}()` {BANNED_CALLS[name]}")
        if name == "getattr" and len(node.args) > 1:
            yield from self._getattr(node)

    def _getattr(self, node: ast.Call) -> Iterator[Remark]:
        thing, key = node.args[:2]
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield from self._attribute(ast.Attribute(value=thing, attr=key.value, lineno=node.lineno))
        elif self._resolve(thing) is not None:
            yield _hard(node, f"`getattr` on `{self._resolve(thing)}` with a computed name hides what is called")
        elif (text := written_text(key)) is not None:
            yield from self._attribute(ast.Attribute(value=thing, attr=text, lineno=node.lineno))
        elif (names := self._known.names(key)) is not None:
            for name in sorted(names):
                yield from self._attribute(ast.Attribute(value=thing, attr=name, lineno=node.lineno))
        elif not (
            self._is_own(thing)
            or self._known.is_own_instance(thing)
            or self._handles.is_kernel(thing)
            or starts_plainly(key)
        ):
            text = "`getattr` with a computed name, on something that is no kernel of the module, hides what is called"
            yield Remark(line=node.lineno, text=text, hard=False)

    def _is_own(self, node: ast.expr) -> bool:
        """The candidate's own model, or an instance of a class of its module."""
        return isinstance(node, ast.Name) and node.id == "self"

    def _assignment(self, node: ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Delete) -> Iterator[Remark]:
        targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else [node.target]
        for target in targets:
            inner = target.value if isinstance(target, ast.Subscript) else target
            dotted = self._resolve(inner) if isinstance(inner, ast.Attribute) else None
            if dotted is not None:
                yield _hard(node, f"assigning to `{dotted}` replaces what the runner relies on")

    def _own_kernel(self) -> Iterator[Remark]:
        for node in ast.walk(self._tree):
            callee = node.func if isinstance(node, ast.Call) else node
            if isinstance(callee, ast.Attribute | ast.Name):
                name = callee.attr if isinstance(callee, ast.Attribute) else callee.id
                if name in KERNEL_MAKERS:
                    return
        if not self._library:
            yield Remark(line=1, text="the module compiles no kernel of its own", hard=True)

    def _on_the_hot_path(self, function: ast.FunctionDef) -> Iterator[Remark]:
        for node in ast.walk(function):
            if isinstance(node, ast.Try) and self._may_fall_back(node):
                yield _hard(node, "`try` on the hot path hides a kernel that fails behind something else")

    def _may_fall_back(self, node: ast.Try) -> bool:
        """Whether a failing kernel could be hidden: not where handlers raise, nor where a look-up is all that fails."""
        if all(ends_by_raising(handler) for handler in node.handlers):
            return False
        if not all(catches_look_up(handler) for handler in node.handlers):
            return True
        calls = [one for part in node.body for one in ast.walk(part) if isinstance(one, ast.Call)]
        return any(self._handles.is_kernel(call.func) for call in calls)

    def _resolve(self, node: ast.expr) -> str | None:
        """The dotted name of an imported thing, aliases resolved; None for anything else."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self._names:
            return None
        return ".".join([self._names[node.id], *reversed(parts)])


HARMLESS_VARIABLES = ("OMP_NUM_THREADS", "OMP_WAIT_POLICY", "OMP_PROC_BIND", "MKL_NUM_THREADS")


def _is_harmless_variable(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in HARMLESS_VARIABLES


def _banned_name(dotted: str, table: Mapping[str, str] = BANNED_NAMES) -> str | None:
    parts = dotted.split(".")
    for length in range(len(parts), 1, -1):
        if (reason := table.get(".".join(parts[:length]))) is not None:
            return reason
    return None


def _cpp(node: ast.Constant) -> Iterator[Remark]:
    for remark in examine_cpp(str(node.value)):
        yield Remark(line=node.lineno + remark.line - 1, text=f"C++ {remark.text}", hard=remark.hard)


def screen_compiled(source: str, compiled: Sequence[str]) -> list[Remark]:
    """Rules broken by what was really compiled, where that is not written out in the module, which was read already.

    A source put together from pieces (`"fo" + "rk"`) shows here what it hides from reading the module."""
    written = {node.value for node in kernel_texts(ast.parse(source))}
    remarks = {
        Remark(line=remark.line, text=f"of a compiled source: C++ {remark.text}", hard=remark.hard)
        for text in compiled
        if text not in written
        for remark in examine_cpp(text, surely=True)
    }
    return sorted(remarks, key=lambda remark: (not remark.hard, remark.line, remark.text))


def _hard(node: ast.AST, text: str) -> Remark:
    return Remark(line=getattr(node, "lineno", 1), text=text, hard=True)
