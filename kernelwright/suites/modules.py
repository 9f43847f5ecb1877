"""Python modules of a checkout as one text that stands alone: what a problem needs of them, and nothing executed."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kernelwright.suites.literals import module_tree
from services.domain.errors import ProblemError
from services.problems.source import bound_names

FUTURE = "from __future__ import annotations"
DEVICE = "SUITE_DEVICE"
_DEVICE_LINE = f'{DEVICE} = "cuda" if torch.cuda.is_available() else "cpu"'


@dataclass
class _Module:
    """One file and what is taken of it."""

    path: Path
    lines: list[str]
    tree: ast.Module
    taken: list[ast.stmt] = field(default_factory=list)

    def binding(self, name: str) -> ast.stmt | None:
        """The last top-level statement that binds a name, those inside `if` and `try` taken whole."""
        found = [node for node in self.tree.body if name in _bound(node)]
        return found[-1] if found else None

    def text(self, node: ast.stmt) -> str:
        """A statement as written, decorators included."""
        first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
        return "\n".join(self.lines[first - 1 : node.end_lineno])


def bundled(
    entry: Path, wanted: Sequence[str], local: Mapping[str, Path], replaced: Mapping[str, str] | None = None
) -> str:
    """The text of `entry`'s definitions `wanted` with all that they use, from the modules `local` too. `replaced` names
    have the text given there instead of their definition.

    Raises `ProblemError` where a name is missing, or two modules mean different things by one."""
    collector = _Bundle(local, replaced or {})
    for name in wanted:
        if not collector.take(entry, name):
            raise ProblemError(
                f"it defines no {name}", remedy="Check out the version that the suite's page names.", path=str(entry)
            )
    return collector.text()


@dataclass
class _Bundle:
    local: Mapping[str, Path]
    replaced: Mapping[str, str]
    modules: dict[Path, _Module] = field(default_factory=dict)
    order: list[Path] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    aliases: list[str] = field(default_factory=list)
    visited: set[tuple[Path, str]] = field(default_factory=set)

    def take(self, path: Path, name: str) -> bool:
        """Take what binds a name in a module, and what that uses; whether there is such a thing."""
        if (path, name) in self.visited:
            return True
        if name in self.replaced:
            self.visited.add((path, name))
            self.heads.append(self.replaced[name])
            return True
        module = self._module(path)
        node = module.binding(name)
        if node is None:
            return any(self.take(other, name) for other in self._starred(module))
        self.visited.add((path, name))
        if isinstance(node, ast.ImportFrom) and (other := self._local_of(node.module)) is not None:
            self._take_imported(node, other, name, path)
        elif isinstance(node, ast.Import) and any(self._local_of(alias.name) for alias in node.names):
            raise ProblemError(
                f"it uses the module {name} of the suite as a whole",
                remedy="Import the functions by name (from … import …): they are put into one text.",
                path=str(path),
                line=node.lineno,
            )
        else:
            self._keep(module, node)
        return True

    def text(self) -> str:
        """Everything taken: modules in the order in which they need each other, statements as in their files."""
        parts: dict[str, str] = {}
        owners: dict[str, tuple[Path, str]] = {}
        for path in self.order:
            module = self.modules[path]
            for node in sorted(module.taken, key=lambda one: one.lineno):
                for names, text in self._pieces(module, node):
                    for name in names:
                        known = owners.setdefault(name, (path, text))
                        if known[0] != path and known[1] != text:
                            raise ProblemError(
                                f"{known[0].name} and {path.name} mean two things by {name}",
                                remedy="Rename one of them.",
                                path=str(path),
                                line=node.lineno,
                            )
                    parts.setdefault(text, _gap(node) + text)
        imports = [text for text in parts if _is_import(text)]
        body = [part for text, part in parts.items() if not _is_import(text)]
        head = dict.fromkeys(["import torch", *imports, *self.heads])
        return "\n".join([FUTURE, "", *head, "", *body, *dict.fromkeys(self.aliases)]) + "\n"

    def _pieces(self, module: _Module, node: ast.stmt) -> Iterator[tuple[set[str], str]]:
        """Names and texts of a statement: imports name by name, only those that are used."""
        if not isinstance(node, ast.Import | ast.ImportFrom):
            yield _bound(node), module.text(node)
            return
        for alias in node.names:
            name = (alias.asname or alias.name).split(".")[0]
            if alias.name == "*" or (module.path, name) in self.visited:
                only = type(node)(**{**dict(ast.iter_fields(node)), "names": [alias]})
                yield {name}, ast.unparse(only)

    def _module(self, path: Path) -> _Module:
        if path not in self.modules:
            text, tree = module_tree(path, "module")
            self.modules[path] = module = _Module(path, text.splitlines(), tree)
            for node in tree.body:
                if _acts(node):
                    self._keep(module, node)
        return self.modules[path]

    def _keep(self, module: _Module, node: ast.stmt) -> None:
        if any(node is one for one in module.taken):
            return
        module.taken.append(node)
        for name in _loaded(node):
            self.take(module.path, name)
        if module.path in self.order:
            return
        self.order.append(module.path)

    def _take_imported(self, node: ast.ImportFrom, other: Path, name: str, path: Path) -> None:
        alias = next(one for one in node.names if (one.asname or one.name) == name)
        if not self.take(other, alias.name):
            remedy = "Check the suite out anew: its files belong to different versions."
            raise ProblemError(f"{other.name} has no {alias.name}", remedy=remedy, path=str(path), line=node.lineno)
        if alias.asname not in (None, alias.name):
            self.aliases.append(f"{alias.asname} = {alias.name}")

    def _starred(self, module: _Module) -> Iterator[Path]:
        for node in module.tree.body:
            if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
                other = self._local_of(node.module)
                if other is not None:
                    yield other
                else:
                    self._keep(module, node)

    def _local_of(self, name: str | None) -> Path | None:
        return self.local.get(name or "")


def portable(text: str) -> str:
    """The text with `"cuda"` where it names a device replaced by the GPU if there is one, else the CPU."""
    places = [place for node in ast.walk(ast.parse(text)) for place in _device_places(node)]
    if not places and DEVICE not in text:
        return text
    lines = [line.encode() for line in text.splitlines(keepends=True)]
    for row, start, end, new in sorted(places, reverse=True):
        line = lines[row - 1]
        lines[row - 1] = line[:start] + new.encode() + line[end:]
    joined = b"".join(lines).decode()
    head, separator, rest = joined.partition("import torch\n")
    return f"{head}{separator}\n{_DEVICE_LINE}\n{rest}"


def _device_places(node: ast.AST) -> Iterator[tuple[int, int, int, str]]:
    """Row, first and last column (bytes), and the new text."""
    if isinstance(node, ast.Constant) and node.value in ("cuda", "cuda:0"):
        if node.end_lineno == node.lineno and node.end_col_offset is not None:
            yield node.lineno, node.col_offset, node.end_col_offset, DEVICE
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "cuda":
        inner = node.func.value
        plain = not node.args and not node.keywords and ast.unparse(inner) != "torch"
        if plain and inner.end_lineno == node.end_lineno and node.end_col_offset and node.end_lineno:
            yield node.end_lineno, inner.end_col_offset or 0, node.end_col_offset, f".to({DEVICE})"


def _acts(node: ast.stmt) -> bool:
    """Whether a statement does something besides binding names: a setting of torch, for example."""
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Assign):
        return any(not isinstance(target, ast.Name | ast.Tuple) for target in node.targets)
    return False


def _bound(node: ast.stmt) -> set[str]:
    names = bound_names(node)
    if isinstance(node, ast.If | ast.Try | ast.With) and not _is_main(node):
        for inner in ast.walk(node):
            if isinstance(inner, ast.stmt) and inner is not node:
                names |= bound_names(inner)
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        names.add(node.target.id)
    return names


def _is_main(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)


def _loaded(node: ast.stmt) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}


def _is_import(text: str) -> bool:
    return text.startswith(("import ", "from "))


def _gap(node: ast.stmt) -> str:
    return "\n\n" if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef) else ""
