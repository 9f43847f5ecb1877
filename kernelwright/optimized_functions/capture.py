"""A function's or class's source together with what it refers to: imports, constants, functions and classes."""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import symtable
import sys
import sysconfig
import textwrap
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from services.domain.errors import ProblemError

RESERVED = frozenset(
    {
        "Model",
        "get_inputs",
        "get_init_inputs",
        "INPUT_SETS",
        "INIT_SETS",
        "HELD_OUT",
        "TOLERANCE",
        "LIBRARY",
        "CONSTRAINTS",
    }
)
"""Names that the problem made of a function defines itself."""
_DROPPED_DECORATORS = ("optimize", "torch.compile", "torch.no_grad", "torch.inference_mode")
"""What a decorator may be without its function computing something else."""
_HOMES_OF_BUILTINS = ("torch", "torch.nn.functional", "math", "operator")
_CONSTANTS = (bool, int, float, complex, str, bytes, type(None))

Definition = types.FunctionType | type
"""What is written with def or class."""


@dataclass(frozen=True, kw_only=True)
class Dependency:
    """A global that the source was captured with; the capture holds as long as it keeps its value."""

    names: dict[str, Any]
    """The globals it belongs to."""
    name: str
    value: Any

    def holds(self) -> bool:
        """Whether the global still has the value that was captured."""
        now = self.names.get(self.name)
        return now is self.value or (type(now) is type(self.value) and isinstance(now, _PLAIN) and now == self.value)


_PLAIN = (*_CONSTANTS, tuple)


@dataclass(frozen=True, kw_only=True)
class CapturedFunction:
    """A function as text that stands by itself."""

    name: str
    parameters: tuple[inspect.Parameter, ...]
    """Its positional parameters."""
    source: str
    """Imports (torch's always), constants, functions and classes, what was captured last."""
    path: str
    """The file that it comes from."""
    line: int
    dependencies: tuple[Dependency, ...]

    def error(self, reason: str, remedy: str) -> ProblemError:
        """An error that points at the function."""
        return ProblemError(f"{self.name} {reason}", remedy=remedy, path=self.path, line=self.line)


def capture(function: Callable[..., Any]) -> CapturedFunction:
    """A function's source with all that it refers to. Raises `ProblemError` saying what stands in the way."""
    if not inspect.isroutine(function):
        kind = type(function).__name__
        raise _error(f"a {kind} was given", "Pass a function defined with def; modules need a problem file.", function)
    if getattr(function, "__name__", "") in RESERVED:
        raise _error("has a name that problems use themselves", "Rename it.", function)
    collector = _Collector()
    target = collector.function(inspect.unwrap(function))
    return _captured(collector, target, _positional(target))


def capture_module(module: type[Any]) -> CapturedFunction:
    """An `nn.Module` class's source with all that it refers to; the parameters are those of `forward`, without self.

    Raises `ProblemError` saying what stands in the way."""
    if module.__name__ in RESERVED:
        remedy = "Rename it; where its file is a problem file already, name only the file."
        raise _error("has a name that problems use themselves", remedy, module)
    collector = _Collector()
    collector.cls(module)
    forward = inspect.unwrap(module.forward)
    if not isinstance(forward, types.FunctionType) or forward.__name__ != "forward":
        raise _error("defines no forward", "Define forward with def, or name the layer inside it.", module)
    return _captured(collector, module, _positional(forward)[1:])


def _captured(collector: _Collector, target: Definition, parameters: tuple[inspect.Parameter, ...]) -> CapturedFunction:
    path, line = _place(target)
    return CapturedFunction(
        name=target.__name__,
        parameters=parameters,
        source="\n\n\n".join(filter(None, ("\n".join(sorted(collector.imports)), *collector.texts))),
        path=path,
        line=line,
        dependencies=tuple(collector.dependencies),
    )


@dataclass
class _Collector:
    """Gathers texts, each name once."""

    imports: set[str] = field(default_factory=lambda: {"import torch"})
    texts: list[str] = field(default_factory=list)
    dependencies: list[Dependency] = field(default_factory=list)
    known: dict[str, Any] = field(default_factory=dict)

    def function(self, function: Any) -> types.FunctionType:
        """Add a function after everything that it refers to."""
        found = _checked(function)
        self._define(found, _tree(found))
        return found

    def cls(self, found: type) -> None:
        """Add a class after everything that it refers to, its bases included."""
        self._define(found, _class_tree(found))

    def _define(self, found: Definition, tree: ast.FunctionDef | ast.ClassDef) -> None:
        if self._is_new(found.__name__, found, found):
            for name in _free_names(tree):
                self._global(name, found)
            self.texts.append(ast.unparse(tree))

    def _global(self, name: str, user: Definition) -> None:
        names = _globals(user)
        if name not in names:
            if hasattr(builtins, name):
                return
            raise _error(f"uses `{name}`, which is not defined", "Define or import it before solving.", user)
        value = names[name]
        if value is user or not self._is_new(name, value, user):
            return
        if not isinstance(value, types.ModuleType):
            self.dependencies.append(Dependency(names=names, name=name, value=value))
        self._add(name, value, user)

    def _add(self, name: str, value: Any, user: Definition) -> None:
        if isinstance(value, types.ModuleType):
            self.imports.add(_module_import(name, value, user))
        elif (text := constant(value)) is not None:
            self.texts.append(f"{name} = {text}")
        elif (home := _importable(name, value)) is not None:
            self.imports.add(home)
        elif isinstance(inspect.unwrap(value) if callable(value) else value, types.FunctionType):
            self._helper(name, inspect.unwrap(value), user)
        elif isinstance(value, type):
            self._helper(name, value, user)
        else:
            raise _refusal(name, value, user)

    def _helper(self, name: str, value: Definition, user: Definition) -> None:
        if value is user:
            return
        if value.__name__ == name:
            del self.known[name]
        if isinstance(value, type):
            self.cls(value)
        else:
            self.function(value)
        if value.__name__ != name:
            self.texts.append(f"{name} = {value.__name__}")

    def _is_new(self, name: str, value: Any, user: Definition) -> bool:
        if name in self.known:
            if self.known[name] is not value and self.known[name] != value:
                raise _error(f"and what it uses mean two things by `{name}`", "Rename one of them.", user)
            return False
        if name in RESERVED:
            raise _error(f"uses `{name}`, a name that problems use themselves", "Rename it.", user)
        self.known[name] = value
        return True


def _checked(function: Any) -> types.FunctionType:
    """A function whose text can stand alone. Raises `ProblemError`."""
    if not isinstance(function, types.FunctionType):
        raise _error("is not written in Python", "Wrap it in a function defined with def.", function)
    if function.__name__ == "<lambda>":
        raise _error("is a lambda, whose text cannot be told from what surrounds it", "Write it with def.", function)
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
        raise _error("is a generator or async function", "Return the tensors from a plain def.", function)
    if function.__closure__:
        names = ", ".join(f"`{name}`" for name in function.__code__.co_freevars)
        remedy = "Make it an argument, or a constant of the module."
        raise _error(f"closes over {names} of the function around it", remedy, function)
    return function


def _tree(function: types.FunctionType) -> ast.FunctionDef:
    """The function's definition, without the decorators that only say how to run it."""
    node = _parsed(function)
    if not isinstance(node, ast.FunctionDef):
        raise _error("is not a plain def", "Write it with def.", function)
    node.decorator_list = [item for item in node.decorator_list if not _is_dropped(item)]
    return node


def _class_tree(found: type) -> ast.ClassDef:
    """The class's definition. Raises `ProblemError` where it does not stand at the top level of a module."""
    if found.__qualname__ != found.__name__:
        raise _error("is defined inside a function or another class", "Define it at the top level of a module.", found)
    node = _parsed(found)
    if not isinstance(node, ast.ClassDef):
        raise _error("is not a plain class", "Write it with class.", found)
    return node


def _parsed(definition: Definition) -> ast.stmt:
    try:
        text = textwrap.dedent(inspect.getsource(definition))
    except (OSError, TypeError):
        remedy = "Define it in a file or in a notebook cell."
        raise _error("has no source text that can be read", remedy, definition) from None
    (node,) = ast.parse(text).body
    if any(isinstance(item, ast.Global) for item in ast.walk(node)):
        raise _error("writes a global variable", "Return the value instead.", definition)
    return node


def _globals(definition: Definition) -> dict[str, Any]:
    if isinstance(definition, type):
        return vars(sys.modules[definition.__module__])
    return definition.__globals__


def _is_dropped(decorator: ast.expr) -> bool:
    text = ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)
    return text in _DROPPED_DECORATORS or text.endswith(".optimize")


def _free_names(tree: ast.FunctionDef | ast.ClassDef) -> list[str]:
    """The globals that a definition reads, annotations apart: nothing evaluates them."""
    bare = _WithoutAnnotations().visit(ast.parse(ast.unparse(tree)))
    table = symtable.symtable(ast.unparse(bare), "function", "exec")
    names = {symbol.get_name() for inner in _tables(table) for symbol in inner.get_symbols() if _reads(inner, symbol)}
    return sorted(names - {tree.name})


def _tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _tables(child)


def _reads(table: symtable.SymbolTable, symbol: symtable.Symbol) -> bool:
    return symbol.is_referenced() and (
        symbol.is_global() or (table.get_type() == "module" and not symbol.is_assigned())
    )


class _WithoutAnnotations(ast.NodeTransformer):
    """Drops what type checkers read."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)


def constant(value: Any) -> str | None:
    """A constant as source, or None for what is none."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return f'float("{value}")'
    if isinstance(value, _CONSTANTS) and type(value) in _CONSTANTS:
        return repr(value)
    if type(value).__module__ == "torch" and type(value).__name__ == "dtype":
        return str(value)
    if type(value) is tuple:
        parts = [constant(item) for item in value]
        return None if None in parts else f"({''.join(f'{part}, ' for part in parts)})"
    return None


def _importable(name: str, value: Any) -> str | None:
    """How to import a function or class of an installed package, or None."""
    own_name = getattr(value, "__name__", None)
    if own_name is None:
        return None
    for home in filter(None, (getattr(value, "__module__", None), *_HOMES_OF_BUILTINS)):
        module = sys.modules.get(home)
        if module is not None and getattr(module, own_name, None) is value and _is_installed(module):
            return f"from {home} import {own_name}" + (f" as {name}" if name != own_name else "")
    return None


def _module_import(name: str, module: types.ModuleType, user: Definition) -> str:
    if not _is_installed(module):
        remedy = "Import the functions and classes themselves (`from … import …`): their source is taken along."
        raise _error(f"uses `{name}`, a module of your own", remedy, user)
    return f"import {module.__name__}" + (f" as {name}" if name != module.__name__ else "")


def _is_installed(module: types.ModuleType) -> bool:
    """Whether a module comes with Python or from an installed package."""
    root = module.__name__.partition(".")[0]
    if root in sys.stdlib_module_names and root != "__main__":
        return True
    file = getattr(importlib.import_module(root) if root != "__main__" else module, "__file__", None)
    return file is not None and any(Path(file).is_relative_to(folder) for folder in _site_folders())


def _site_folders() -> tuple[str, ...]:
    """This environment's, and those of others that a `.pth` file adds."""
    added = (folder for folder in sys.path if Path(folder).name in ("site-packages", "dist-packages"))
    return (*(sysconfig.get_path(name) for name in ("purelib", "platlib")), *added)


def _positional(function: types.FunctionType) -> tuple[inspect.Parameter, ...]:
    found = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise _error(f"takes *{parameter.name}", "Name its arguments one by one.", function)
        if parameter.kind is not parameter.KEYWORD_ONLY:
            found.append(parameter)
        elif parameter.default is parameter.empty:
            raise _error(f"needs the keyword argument `{parameter.name}`", "Make it positional.", function)
    return tuple(found)


def _refusal(name: str, value: Any, user: Definition) -> ProblemError:
    if hasattr(value, "untyped_storage"):
        return _error(f"uses the global tensor `{name}`", "Make it an argument.", user)
    if isinstance(value, (list, dict, set)):
        return _error(f"uses the global `{name}`, which may change", "Make it an argument or a tuple.", user)
    remedy = (
        "Only modules, functions, classes, numbers, strings, dtypes and tuples of these can be taken along: pass it in."
    )
    return _error(f"uses the global `{name}` of type {type(value).__name__}", remedy, user)


def _error(reason: str, remedy: str, function: Any) -> ProblemError:
    path, line = _place(function)
    subject = getattr(function, "__name__", "")
    return ProblemError(f"{subject} {reason}".strip(), remedy=remedy, path=path, line=line)


def _place(function: Any) -> tuple[str, int]:
    if isinstance(function, type):
        return _place_of_class(function)
    code = getattr(inspect.unwrap(function), "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code else (f"<{type(function).__name__}>", 1)


def _place_of_class(found: type) -> tuple[str, int]:
    try:
        return inspect.getsourcefile(found) or f"<{found.__name__}>", inspect.getsourcelines(found)[1]
    except (OSError, TypeError):
        return f"<{found.__name__}>", 1
