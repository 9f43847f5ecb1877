"""The text of a problem, parsed: what it binds, and the part of it that agents may see.

Nothing here executes a problem. Standard library only.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from services.domain import constraints
from services.domain.errors import ProblemError
from services.domain.problems import Problem
from services.domain.python_source import parsed, split_lines

MAX_SOURCE_BYTES = 1 << 20
MAX_LINE_CHARACTERS = 100_000
DIALECT = (
    "TOLERANCE",
    "INPUT_SETS",
    "INIT_SETS",
    "SHAPES",
    "HELD_OUT",
    "OBJECTIVE",
    "BACKWARD",
    "LIBRARY",
    constraints.NAME,
)

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, kw_only=True)
class ProblemText:
    """A parsed problem."""

    problem: Problem
    tree: ast.Module
    lines: tuple[str, ...]

    @classmethod
    def parse(cls, problem: Problem) -> ProblemText:
        """Parse a problem's text. Raises `ProblemError`."""
        _check_text(problem)
        return cls(problem=problem, tree=_parse(problem), lines=tuple(split_lines(problem.source)))

    def error(self, reason: str, remedy: str, node: ast.AST | None = None) -> ProblemError:
        """A `ProblemError` at a node's line."""
        line = getattr(node, "lineno", None)
        return ProblemError(reason, remedy=remedy, path=self.problem.path, line=line)

    def definition(self, name: str) -> ast.stmt | None:
        """The last top-level statement that binds a name (inside `if`, `try` and `with` too), or None."""
        found = [node for node in statements(self.tree.body) if name in bound_names(node)]
        return found[-1] if found else None

    def constants(self, name: str) -> list[ast.stmt]:
        """All top-level statements that assign to a name."""
        return [node for node in statements(self.tree.body) if name in bound_names(node)]

    def imports_everything(self) -> bool:
        """Whether a star import may bind any name."""
        imports = [node for node in statements(self.tree.body) if isinstance(node, ast.ImportFrom)]
        return any(alias.name == "*" for node in imports for alias in node.names)

    def used_only_by(self, held_out: ast.stmt) -> list[ast.stmt]:
        """`HELD_OUT` and the functions, classes and constants that nothing else of the module uses."""
        kept_names = {"Model", "get_inputs", "get_init_inputs", *DIALECT}
        removable = [
            node
            for node in self.tree.body
            if (names := bound_names(node)) and _is_definition(node) and not names & kept_names
        ]
        cut = [held_out, *_closure(held_out, removable)]
        while True:
            used = {name for node in self.tree.body if not among(node, cut) for name in _loaded(node)}
            staying = [node for node in cut if node is held_out or not bound_names(node) & used]
            if len(staying) == len(cut):
                return cut
            cut = staying

    def without(self, cut: list[ast.stmt]) -> str:
        """The text with some statements, and the comments right above them, replaced by empty lines."""
        lines = list(self.lines)
        others = [node for node in self.tree.body if not among(node, cut)]
        shared = {line for node in others for line in _span(node)}
        for node in cut:
            if shared & set(_span(node)):
                raise self.error("it shares a line with HELD_OUT's code", "Put each statement on its own line.", node)
            first, last = _span(node)[0], _span(node)[-1]
            while first > 1 and self.lines[first - 2].lstrip().startswith("#"):
                first -= 1
            for number in range(first, last + 1):
                lines[number - 1] = "\n" if lines[number - 1].endswith("\n") else ""
        return "".join(lines)


def _check_text(problem: Problem) -> None:
    source, path = problem.source, problem.path
    try:
        size = len(source.encode())
    except UnicodeEncodeError:
        raise ProblemError("it is not valid Unicode", remedy="Save it as UTF-8.", path=path) from None
    if size > MAX_SOURCE_BYTES:
        remedy = "Keep data out of the problem file: make it in get_inputs()."
        raise ProblemError(f"it has {size} bytes; {MAX_SOURCE_BYTES} are allowed", remedy=remedy, path=path)
    if "\0" in source:
        line = source[: source.index("\0")].count("\n") + 1
        raise ProblemError("it contains null bytes", remedy="Save it as UTF-8 text.", path=path, line=line)
    for number, line_text in enumerate(split_lines(source), start=1):
        if len(line_text) > MAX_LINE_CHARACTERS:
            reason = f"the line has {len(line_text)} characters; {MAX_LINE_CHARACTERS} are allowed"
            raise ProblemError(reason, remedy="Make data in get_inputs() instead.", path=path, line=number)


def _parse(problem: Problem) -> ast.Module:
    remedy = "Fix the syntax."
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = parsed(problem.source)
            compile(problem.source, problem.path, "exec", dont_inherit=True)
    except SyntaxError as error:
        place = f" (column {error.offset}: `{error.text.strip()[:80]}`)" if error.text and error.offset else ""
        reason = f"syntax error: {error.msg}{place}"
        raise ProblemError(reason, remedy=remedy, path=problem.path, line=error.lineno or None) from None
    except (RecursionError, MemoryError):
        raise ProblemError(
            "its expressions are nested too deep for Python's parser", remedy="Flatten them.", path=problem.path
        ) from None
    except ValueError as error:
        raise ProblemError(f"Python cannot parse it: {error}", remedy=remedy, path=problem.path) from None
    return tree


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """A body's statements and those nested in `if`, `try`, `with`, `for` and `while`, which bind in the same scope."""
    for node in body:
        yield node
        if isinstance(node, ast.If | ast.For | ast.While | ast.Try | ast.With):
            for nested in ("body", "orelse", "finalbody"):
                yield from statements(getattr(node, nested, []))
            for handler in getattr(node, "handlers", []):
                yield from statements(handler.body)


def bound_names(node: ast.stmt) -> set[str]:
    """Names that one statement binds itself."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AugAssign) or (isinstance(node, ast.AnnAssign) and node.value is not None):
        targets = [node.target]
    return {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}


def _is_definition(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign)


def _loaded(node: ast.stmt) -> set[str]:
    return {name.id for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Load)}


def _closure(start: ast.stmt, definitions: list[ast.stmt]) -> list[ast.stmt]:
    """The definitions that a statement uses, directly or through one another."""
    found: list[ast.stmt] = []
    names = _loaded(start)
    while new := [node for node in definitions if not among(node, found) and bound_names(node) & names]:
        found += new
        names |= {name for node in new for name in _loaded(node)}
    return found


def among(node: ast.stmt, nodes: list[ast.stmt]) -> bool:
    """Whether a statement is one of several (the very same node, not an equal one)."""
    return any(node is other for other in nodes)


def _span(node: ast.stmt) -> range:
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    return range(first, (node.end_lineno or node.lineno) + 1)


def root_name(node: ast.expr) -> str | None:
    """`torch` for `torch.nn.Module`; None for anything but a dotted name."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def dotted_name(node: ast.expr) -> str | None:
    """A dotted name as written, `torch.nn.Module`; None for any other expression."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None


def positional_arity(function: FunctionNode, *, bound: bool) -> tuple[int, int | None]:
    """Fewest and most positional arguments of a call, `self` not counted; None where there is no upper limit."""
    arguments = function.args
    total = len(arguments.posonlyargs) + len(arguments.args) - (1 if bound else 0)
    least = max(total - len(arguments.defaults), 0)
    return least, None if arguments.vararg else max(total, 0)


def requires_keywords(function: FunctionNode) -> bool:
    """Whether a call must name arguments."""
    return any(default is None for default in function.args.kw_defaults)


def returned_count(function: FunctionNode) -> int | None:
    """How many values a function with one plain `return [a, b]` returns; None where reading cannot tell."""
    returns = [node for node in ast.walk(function) if isinstance(node, ast.Return)]
    nested = [node for node in ast.walk(function) if isinstance(node, FunctionNode | ast.Lambda)]
    if len(returns) != 1 or len(nested) != 1:
        return None
    value = returns[0].value
    if not isinstance(value, ast.List | ast.Tuple) or any(isinstance(item, ast.Starred) for item in value.elts):
        return None
    return len(value.elts)
