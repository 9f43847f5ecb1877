"""A function or layer that a command line names: `layers.py:normalise` or `package.layers:Encoder`."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from services.domain.errors import UserError
from services.domain.problems import Problem

FORM = "name a function or a class of layers as FILE.py:NAME or package.module:NAME"
INPUTS = (
    "name them with --inputs: a function without arguments that returns them, or a list of them, in the same module or "
    "as FILE.py:NAME"
)


def is_named(text: str) -> bool:
    """Whether a text names a function or class of a module rather than a file."""
    module, separator, name = text.rpartition(":")
    return bool(separator) and name.isidentifier() and bool(module) and not Path(text).exists()


def function_problem(
    text: str, inputs: str, allow_library: tuple[str, ...] = (), objective: str = "", init: str = ""
) -> Problem:
    """The problem of a function, or of an `nn.Module` class, with example inputs; `init` names what the class is built
    from. Imports the user's module here, as running it would.

    Raises `UserError` where there is no such thing, and `ProblemError` where it makes no problem."""
    from torch import nn

    from kernelwright.optimized_functions.problem import make_module_problem, make_problem

    if not is_named(text):
        option = "--inputs" if inputs else "--init"
        raise UserError(f"{option} goes with a function or class, and {text} does not name one: {FORM}")
    if not inputs:
        raise UserError(f"{text} needs example inputs: {INPUTS}")
    module, _, name = text.rpartition(":")
    target = _found(_imported(module), name, module)
    examples = _value(inputs, module)
    if not isinstance(examples, list | tuple):
        raise UserError(f"{inputs} gives {_kind(examples)}: give the arguments of a call, (x, y), or a list of calls")
    if isinstance(target, type) and issubclass(target, nn.Module):
        arguments, keywords = _arguments(init, module)
        made = make_module_problem(target, examples, arguments, keywords, allow_library=allow_library)
    else:
        _check_function(target, text, init)
        made = make_problem(target, examples, allow_library=allow_library)
    return replace(made.problem, objective=objective)


def _check_function(target: Any, text: str, init: str) -> None:
    from torch import nn

    if isinstance(target, nn.Module):
        raise UserError(
            f"{text} is {_kind(target)}, not a function or class: name its class {type(target).__name__}, and with "
            "--init what it is built from. Its present weights are not needed: a kernel takes them as arguments"
        )
    if isinstance(target, type) or not inspect.isroutine(target):
        raise UserError(
            f"{text} is {_kind(target)}, not a function or an nn.Module class: {FORM}, or write a problem file with "
            "Model, get_inputs and get_init_inputs"
        )
    if init:
        raise UserError(f"--init goes with an nn.Module class, and {text} is a function: leave it out")


def _arguments(init: str, module: str) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
    """What a class is built from, positional and by name. Raises `UserError`."""
    if not init:
        return (), {}
    value = _value(init, module)
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return (), value
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return tuple(value), {}
    raise UserError(f"{init} gives {_kind(value)}: give the constructor's arguments as a tuple, or a dict of keywords")


def _value(text: str, module: str) -> Any:
    """What a name of a module stands for; a function is called. Raises `UserError`."""
    where, _, wanted = text.rpartition(":")
    value = _found(_imported(where or module), wanted, where or module)
    return _called(value, text) if callable(value) else value


def _imported(name: str) -> ModuleType:
    """A module by its file or its dotted name. Raises `UserError`."""
    path = Path(name)
    if path.suffix == ".py" and not path.is_file():
        raise UserError(f"{name}: there is no such file")
    folder = str(path.parent.resolve()) if path.suffix == ".py" else str(Path.cwd())
    with _on_path(folder), redirect_stdout(sys.stderr):
        try:
            return _from_file(path) if path.suffix == ".py" else importlib.import_module(name)
        except (Exception, SystemExit) as error:
            raise UserError(f"{name} cannot be imported: {type(error).__name__}: {error}") from error


def _from_file(path: Path) -> ModuleType:
    known = sys.modules.get(path.stem)
    if known is not None and Path(getattr(known, "__file__", None) or "").resolve() == path.resolve():
        return known
    if known is not None:
        raise UserError(f"another module named {path.stem} is already loaded: rename {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[path.stem]
        raise
    return module


@contextmanager
def _on_path(folder: str) -> Iterator[None]:
    """Inside, modules of a folder are found first, as when a file of it is run."""
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


def _found(module: ModuleType, name: str, where: str) -> Any:
    if not hasattr(module, name):
        raise UserError(f"{where} defines no {name}")
    return getattr(module, name)


def _called(function: Any, name: str) -> Any:
    try:
        with redirect_stdout(sys.stderr):
            return function()
    except (Exception, SystemExit) as error:
        raise UserError(f"{name}() raised {type(error).__name__}: {error}") from error


def _kind(value: object) -> str:
    if isinstance(value, type):
        return f"the class {value.__name__}"
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"
