"""A model put together again: its outline as a module, with kernels in the places of its parts. Text only."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from services.domain.models import ModelBlock, ModelOutline, StateEntry
from services.domain.python_source import parsed

ENTRY = "ModelNew"


def assembled(outline: ModelOutline, kernels: Mapping[int, str], title: str) -> str:
    """A module defining `ModelNew` like the model, with the kernels (part number to a module's source) swapped in.

    Parameters and buffers keep their names, so that the model's own state fits. Without kernels it is the model as
    traced. Raises `SyntaxError` for a kernel that is no Python."""
    apart = {number: separated(source, f"_part{number}") for number, source in sorted(kernels.items())}
    future = sorted({line for lines, _ in apart.values() for line in lines})
    sections = [body.strip("\n") for _, body in apart.values()]
    return "\n".join([
        f'"""{title}"""',
        "",
        *([*future, ""] if future else []),
        "import torch",
        "import torch.nn.functional as F",
        "",
        "",
        *(line for section in sections for line in (*section.splitlines(), "", "")),
        *_REGISTER.splitlines(),
        "",
        "",
        f"class {ENTRY}(torch.nn.Module):",
        "    def __init__(self, *arguments, **keywords):",
        "        super().__init__()",
        *(f"        {line}" for line in _constructor(outline, sorted(apart))),
        "",
        f"    def forward({', '.join(('self', *outline.inputs))}):",
        *(f"        {line}" for line in _forward(outline, frozenset(apart))),
        "",
    ])  # fmt: skip


def kept_operators(outline: ModelOutline, kernels: Mapping[int, str]) -> tuple[str, ...]:
    """PyTorch's operators that an assembled model still runs: what its judging must allow."""
    return tuple(sorted({name for block in outline.blocks if block.part not in kernels for name in block.operators}))


def separated(source: str, suffix: str) -> tuple[tuple[str, ...], str]:
    """(imports from `__future__`, the rest) of a module, all its top-level names but imported ones given a suffix.

    Strings are left alone: C++ and the like keep the names that they have there. Raises `SyntaxError`."""
    tree = parsed(source)
    own = frozenset(name for node in tree.body for name in _defined(node))
    lines = source.splitlines(keepends=True)
    for edit in sorted(_Scopes(own, suffix, source.splitlines()).edits(tree), reverse=True):
        edit.apply(lines)
    future = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            future.append(ast.unparse(node))
            for number in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                lines[number - 1] = "\n"
    return tuple(future), "".join(lines)


_REGISTER = '''
def _register(root, path, tensor):
    """Put a parameter or buffer at its attribute path."""
    *owners, name = path.split(".")
    for owner in owners:
        if owner not in root._modules:
            root.add_module(owner, torch.nn.Module())
        root = root._modules[owner]
    if isinstance(tensor, torch.nn.Parameter):
        root.register_parameter(name, tensor)
    else:
        root.register_buffer(name, tensor)
'''.strip()


def _constructor(outline: ModelOutline, parts: Sequence[int]) -> Iterator[str]:
    yield from (_registered(entry) for entry in outline.state)
    yield from (f"self.{name} = {expression}" for name, expression in outline.constants)
    # Not registered: kernels have no state of their own, and the model's own names must stay the only ones.
    yield from (f"self.part{number} = ({ENTRY}_part{number}(),)" for number in parts)


def _registered(entry: StateEntry) -> str:
    empty = f"torch.empty({list(entry.shape)}, dtype=torch.{entry.dtype})"
    if not entry.is_buffer:
        floating = entry.dtype.startswith(("float", "bfloat", "complex"))
        empty = f"torch.nn.Parameter({empty}{'' if floating else ', requires_grad=False'})"
    return f'_register(self, "{entry.path}", {empty})'


def _forward(outline: ModelOutline, parts: frozenset[int]) -> Iterator[str]:
    for name, shape in outline.shapes:
        yield f"if tuple({name}.shape) != {shape}:"
        yield f'    raise ValueError(f"{name} must be {list(shape)}, as traced, not {{list({name}.shape)}}")'
    for block in outline.blocks:
        if block.part in parts:
            yield _call(block)
        else:
            yield from block.lines
    yield f"return {outline.result}"


def _call(block: ModelBlock) -> str:
    results = ", ".join(block.results)
    return f"{results} = self.part{block.part}[0]({', '.join(block.arguments)})"


def _defined(node: ast.stmt) -> set[str]:
    """Names that a top-level statement gives to things of the module's own."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return set()
    found: set[str] = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.FunctionDef | ast.ClassDef):
            found.add(inner.name)
        elif isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            found.add(inner.id)
    return found


_NAMED = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, order=True)
class _Edit:
    """Replace what stands between two places (line from 1, column in bytes)."""

    first: tuple[int, int]
    last: tuple[int, int]
    text: str

    def apply(self, lines: list[str]) -> None:
        """Change the lines; edits behind this one were applied before."""
        (line, column), (end_line, end_column) = self.first, self.last
        head = lines[line - 1].encode()[:column].decode()
        tail = lines[end_line - 1].encode()[end_column:].decode()
        lines[line - 1] = f"{head}{self.text}{tail}"
        for number in range(line, end_line):
            lines[number] = ""


class _Scopes:
    """Finds where a top-level name means the module's own thing: parameters and variables of functions hide it."""

    def __init__(self, own: frozenset[str], suffix: str, lines: list[str]) -> None:
        self._own = own
        self._suffix = suffix
        self._lines = lines

    def edits(self, node: ast.AST, hidden: frozenset[str] = frozenset()) -> Iterator[_Edit]:
        """What to change below a node where some names are hidden."""
        for child in ast.iter_child_nodes(node):
            if isinstance(node, ast.Module) and isinstance(child, _NAMED):
                yield self._word(child, child.name)
            yield from self._one(child, hidden)

    def _one(self, node: ast.AST, hidden: frozenset[str]) -> Iterator[_Edit]:
        if isinstance(node, ast.Name):
            if self._means_own(node.id, hidden):
                yield _Edit(_start(node), _end(node), node.id + self._suffix)
        elif isinstance(node, ast.JoinedStr):
            yield from self._formatted(node, hidden)
        elif isinstance(node, ast.Global):
            yield from (self._word(node, name) for name in node.names if name in self._own)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from self._function(node, hidden)
        elif isinstance(node, ast.ClassDef):
            yield from self._class(node, hidden)
        elif isinstance(node, ast.Lambda):
            yield from self.edits(node, hidden | {argument.arg for argument in _arguments(node.args)})
        else:
            yield from self.edits(node, hidden)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, hidden: frozenset[str]) -> Iterator[_Edit]:
        """Decorators, defaults and annotations belong to the scope outside."""
        outside = [*node.decorator_list, node.args, *([] if node.returns is None else [node.returns])]
        yield from self._all(outside, hidden)
        yield from self._all(node.body, hidden | _local(node))

    def _class(self, node: ast.ClassDef, hidden: frozenset[str]) -> Iterator[_Edit]:
        """What a class assigns is its attribute; its methods do not see that name."""
        yield from self._all([*node.decorator_list, *node.bases, *node.keywords], hidden)
        attributes = hidden | frozenset(name for child in node.body for name in _defined(child))
        for child in node.body:
            inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from self._one(child, hidden if inside else attributes)

    def _all(self, nodes: Sequence[ast.AST], hidden: frozenset[str]) -> Iterator[_Edit]:
        for node in nodes:
            yield from self._one(node, hidden)

    def _formatted(self, node: ast.JoinedStr, hidden: frozenset[str]) -> Iterator[_Edit]:
        """Written anew as a whole: Python 3.11 does not say where the names in it stand."""
        names = [inner for inner in ast.walk(node) if isinstance(inner, ast.Name) and self._means_own(inner.id, hidden)]
        for name in names:
            name.id += self._suffix
        if names:
            yield _Edit(_start(node), _end(node), ast.unparse(node))

    def _word(self, node: ast.stmt, name: str) -> _Edit:
        """For a name that has no node of its own: behind `def`, `class` and `global`."""
        line = self._lines[node.lineno - 1]
        found = re.compile(rf"\b{re.escape(name)}\b").search(line, _characters(line, node.col_offset))
        assert found is not None
        start, end = (len(line[:place].encode()) for place in found.span())
        return _Edit((node.lineno, start), (node.lineno, end), name + self._suffix)

    def _means_own(self, name: str, hidden: frozenset[str]) -> bool:
        return name in self._own and name not in hidden


def _start(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end(node: ast.expr) -> tuple[int, int]:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return node.end_lineno, node.end_col_offset


def _characters(line: str, column: int) -> int:
    return len(line.encode()[:column].decode())


def _arguments(arguments: ast.arguments) -> list[ast.arg]:
    extra = [item for item in (arguments.vararg, arguments.kwarg) if item is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *extra]


def _local(function: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    """Names that are a function's own: parameters and what it assigns, without those declared global."""
    found = {argument.arg for argument in _arguments(function.args)}
    shared: set[str] = set()
    stack: list[ast.AST] = list(function.body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Global):
            shared |= set(node.names)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
            continue
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        stack += [] if isinstance(node, ast.Lambda) else list(ast.iter_child_nodes(node))
    return frozenset(found - shared)
