"""Problems as texts: what reading alone can find wrong with one, and the part of it that agents may see.

Nothing here executes a problem. Standard library only.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from services.domain import constraints, objectives, shape_lists
from services.domain.errors import ProblemError
from services.domain.problems import Problem
from services.problems.source import (
    DIALECT,
    FunctionNode,
    ProblemText,
    among,
    bound_names,
    dotted_name,
    positional_arity,
    requires_keywords,
    returned_count,
    root_name,
    statements,
)

T = TypeVar("T")

_FORM = "Write it in KernelBench form: class Model(nn.Module) with forward, get_inputs() and get_init_inputs()."
_MODULE_BASES = ("nn.Module", "torch.nn.Module", "Module", "object")
_LITERALS = (ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.Lambda, ast.JoinedStr)


def lint_problem(problem: Problem) -> None:
    """Raise `ProblemError` (path, line, reason, remedy) for the first fault that reading the problem can find."""
    _guarded(problem, _lint)


def public_source(problem: Problem) -> str:
    """The problem's text for agents and runners: `HELD_OUT` and what only it uses replaced by empty lines.

    Line numbers stay those of the file. Raises `ProblemError` when the text cannot be parsed or `HELD_OUT` is not a
    plain assignment that can be cut.
    """
    return _guarded(problem, _public_source)


def _guarded(problem: Problem, reader: Callable[[ProblemText], T]) -> T:
    try:
        return reader(ProblemText.parse(problem))
    except RecursionError:
        raise ProblemError("its code is nested too deep", remedy="Flatten it.", path=problem.path) from None


def _lint(text: ProblemText) -> None:
    _check_names(text)
    model = _check_model(text)
    _check_inputs(text, model)
    for name in DIALECT:
        _CHECKS[name](text, text.constants(name))
    if text.problem.objective:
        _check_aim(text, text.problem.objective, None)


def _public_source(text: ProblemText) -> str:
    held_out = text.constants("HELD_OUT")
    _check_held_out(text, held_out)
    if not held_out:
        return text.problem.source
    return text.without(text.used_only_by(held_out[0]))


def _check_names(text: ProblemText) -> None:
    """`Model`, `get_inputs` and `get_init_inputs` exist."""
    if text.definition("Model") is None:
        raise text.error("it defines no class Model", _FORM)
    for name in ("get_inputs", "get_init_inputs"):
        if text.definition(name) is None and not text.imports_everything():
            raise text.error(f"it defines no function {name}()", _FORM)


def _check_model(text: ProblemText) -> ast.ClassDef | None:
    """`Model` is an `nn.Module` with a `forward`; None where it is not a class written here."""
    model = text.definition("Model")
    if isinstance(model, FunctionNode):
        raise text.error("Model is a function", "Make it a class Model(nn.Module).", model)
    if not isinstance(model, ast.ClassDef):
        return None
    if not _may_be_module(text, model, set()):
        raise text.error("Model is not an nn.Module", "Derive it: class Model(torch.nn.Module).", model)
    if _lacks(text, model, "forward"):
        raise text.error("Model has no forward", "Define forward(self, …) in Model.", model)
    return model


def _check_inputs(text: ProblemText, model: ast.ClassDef | None) -> None:
    """Both input functions take nothing, and what they return fits `forward` and `__init__`."""
    for source, method in (("get_inputs", "forward"), ("get_init_inputs", "__init__")):
        function = text.definition(source)
        if not isinstance(function, FunctionNode):
            continue
        _check_plain_function(text, function)
        count = returned_count(function)
        if model is not None and count is not None:
            _check_arity(text, model, method, source, count)


def _check_plain_function(text: ProblemText, function: FunctionNode) -> None:
    name = function.name
    if isinstance(function, ast.AsyncFunctionDef):
        raise text.error(f"{name} is an async function", f"Write it as a plain def {name}().", function)
    if positional_arity(function, bound=False)[0] > 0 or requires_keywords(function):
        raise text.error(f"{name} takes arguments", f"It is called as {name}(): give them defaults.", function)


def _check_arity(text: ProblemText, model: ast.ClassDef, method: str, source: str, count: int) -> None:
    function = _method(model, method)
    if function is None:
        if method == "__init__" and count and _lacks(text, model, "__init__"):
            reason = f"{source} returns {count} values but Model has no __init__ to take them"
            raise text.error(reason, f"Return [] from {source}, or define __init__.", model)
        return
    if isinstance(function, ast.AsyncFunctionDef):
        raise text.error(f"{method} is an async function", f"Write it as a plain def {method}.", function)
    least, most = positional_arity(function, bound=True)
    wanted = f"{least}" if most == least else f"{least} to {most}" if most is not None else f"at least {least}"
    if requires_keywords(function):
        raise text.error(f"Model.{method} needs keyword arguments", "Inputs are passed by position only.", function)
    if count < least or (most is not None and count > most):
        reason = f"Model.{method} takes {wanted} inputs but {source} returns {count}"
        raise text.error(reason, f"Make {source} return one value per argument of {method}.", function)


def _method(model: ast.ClassDef, name: str) -> FunctionNode | None:
    for node in model.body:
        if isinstance(node, FunctionNode) and node.name == name and not node.decorator_list:
            return node
    return None


def _local_class(text: ProblemText, base: ast.expr) -> ast.ClassDef | None:
    if not isinstance(base, ast.Name):
        return None
    found = text.definition(base.id)
    return found if isinstance(found, ast.ClassDef) else None


def _may_be_module(text: ProblemText, node: ast.ClassDef, seen: set[str]) -> bool:
    """Whether a class may derive from `nn.Module`; bases from elsewhere get the benefit of the doubt."""
    if node.name in seen:
        return False
    for base in node.bases:
        local = _local_class(text, base)
        if local is not None:
            if _may_be_module(text, local, seen | {node.name}):
                return True
            continue
        root = root_name(base)
        if root is None or _is_known(text, root, base):
            return True
    return False


def _is_known(text: ProblemText, root: str, base: ast.expr) -> bool:
    if text.definition(root) is not None or text.imports_everything():
        return True
    if hasattr(builtins, root):
        return False
    remedy = "Add `import torch` and `import torch.nn as nn`." if root in ("nn", "torch") else "Import it."
    raise text.error(f"`{root}` is used but never imported or defined", remedy, base)


def _lacks(text: ProblemText, node: ast.ClassDef, name: str) -> bool:
    """Whether neither the class nor a base can have a method; `nn.Module` itself has no usable forward."""
    if any(name in bound_names(item) for item in statements(node.body)):
        return False
    for base in node.bases:
        local = _local_class(text, base)
        if local is not None and local is not node:
            if not _lacks(text, local, name):
                return False
        elif dotted_name(base) not in _MODULE_BASES:
            return False
    return True


def _value(node: ast.stmt) -> ast.expr | None:
    return node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None


def _check_tolerance(text: ProblemText, nodes: list[ast.stmt]) -> None:
    remedy = "Write TOLERANCE = {torch.float32: (1e-4, 1e-4)}: dtype to (atol, rtol)."
    for node in nodes:
        value = _value(node)
        if isinstance(value, ast.Dict):
            for key, item in zip(value.keys, value.values, strict=True):
                if isinstance(key, ast.Constant) and not isinstance(key.value, str):
                    raise text.error("a key of TOLERANCE is not a dtype", remedy, key)
                if isinstance(item, _LITERALS) and not _is_pair(item):
                    raise text.error("a value of TOLERANCE is not (atol, rtol)", remedy, item)
        elif isinstance(value, _LITERALS):
            raise text.error("TOLERANCE is not a dict", remedy, node)


def _is_pair(item: ast.expr) -> bool:
    if not isinstance(item, ast.Tuple | ast.List) or len(item.elts) != 2:
        return False
    literals = [entry for entry in item.elts if isinstance(entry, (*_LITERALS, ast.UnaryOp))]
    return all(
        isinstance(entry, ast.Constant) and isinstance(entry.value, int | float) and not isinstance(entry.value, bool)
        for entry in literals
    )


def _check_functions(name: str, text: ProblemText, nodes: list[ast.stmt]) -> None:
    like = "get_init_inputs" if name == "INIT_SETS" else "get_inputs"
    remedy = f"Write {name} = [make_small, make_odd]: a list of functions without arguments, each like {like}."
    for node in nodes:
        value = _value(node)
        if isinstance(value, _LITERALS) and not isinstance(value, ast.List | ast.Tuple):
            raise text.error(f"{name} is not a list of functions", remedy, node)
        for entry in getattr(value, "elts", []):
            function = text.definition(entry.id) if isinstance(entry, ast.Name) else None
            if name == "HELD_OUT" and isinstance(entry, ast.Dict | ast.List | ast.Tuple):
                continue  # sizes, as in SHAPES; the referee reads them
            if isinstance(entry, _LITERALS) and not isinstance(entry, ast.Lambda):
                raise text.error(f"an entry of {name} is not a function", remedy, entry)
            if isinstance(entry, ast.Name) and function is None and not text.imports_everything():
                raise text.error(f"{name} names `{entry.id}`, which is not defined", remedy, entry)
            if isinstance(function, FunctionNode) and positional_arity(function, bound=False)[0] > 0:
                raise text.error(f"`{function.name}` of {name} takes arguments", remedy, function)


def _check_shapes(text: ProblemText, nodes: list[ast.stmt]) -> None:
    """A list of shapes is written out: sizes by name, or in order, that `get_inputs` takes."""
    for node in nodes:
        try:
            value = ast.literal_eval(_value(node) or ast.Constant(None))
        except (ValueError, TypeError, MemoryError, RecursionError):
            raise text.error("SHAPES is not a list written out", shape_lists.REMEDY, node) from None
        try:
            shape_lists.entries(value)
        except shape_lists.ShapeListError as error:
            raise text.error(str(error), shape_lists.REMEDY, node) from None


def _check_held_out(text: ProblemText, nodes: list[ast.stmt]) -> None:
    """`HELD_OUT` is one plain top-level assignment used nowhere else, so that cutting it leaves a working text."""
    remedy = "Write it once, at the top level, as HELD_OUT = [function, …], and use it nowhere else."
    names = [node for node in ast.walk(text.tree) if isinstance(node, ast.Name) and node.id == "HELD_OUT"]
    if len(names) != len(nodes) or len(nodes) > 1:
        raise text.error("HELD_OUT is used more than once", remedy, names[-1])
    for node in nodes:
        plain = isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
        if not among(node, text.tree.body) or not (plain or isinstance(node, ast.AnnAssign)):
            raise text.error("HELD_OUT is not a plain top-level assignment", remedy, node)
        if not isinstance(_value(node), ast.List | ast.Tuple):
            raise text.error("HELD_OUT is not a list of functions", remedy, node)
    _check_functions("HELD_OUT", text, nodes)


def _check_objective(text: ProblemText, nodes: list[ast.stmt]) -> None:
    """Written out, so that everybody who reads the problem sees which figure counts."""
    for node in nodes:
        value = _value(node)
        if not (isinstance(value, ast.Constant) and isinstance(value.value, str)):
            raise text.error("OBJECTIVE is not a text", objectives.REMEDY, node)
        _check_aim(text, value.value, node)


def _check_aim(text: ProblemText, aim: str, node: ast.stmt | None) -> None:
    names = _names_of_sets(text)
    try:
        found = objectives.parse(aim)
        if names is not None:
            found.check(names)
    except objectives.ObjectiveError as error:
        raise text.error(str(error), objectives.REMEDY, node) from None


def _names_of_sets(text: ProblemText) -> list[str] | None:
    """What objectives call the problem's input sets; None where reading does not tell."""
    names = ["get_inputs"]
    for node in text.constants("INPUT_SETS"):
        value = _value(node)
        entries = value.elts if isinstance(value, ast.List | ast.Tuple) else None
        if entries is None or not all(isinstance(entry, ast.Name) for entry in entries):
            return None
        names += [entry.id for entry in entries if isinstance(entry, ast.Name)]
    return None if text.constants("SHAPES") or len(set(names)) < len(names) else names


def _check_backward(text: ProblemText, nodes: list[ast.stmt]) -> None:
    """Written out, so that everybody who reads the problem sees what is asked for."""
    for node in nodes:
        value = _value(node)
        if not (isinstance(value, ast.Constant) and isinstance(value.value, bool)):
            remedy = "Write BACKWARD = True to have gradients judged too, or remove it."
            raise text.error("BACKWARD is not True or False", remedy, node)


def _check_library(text: ProblemText, nodes: list[ast.stmt]) -> None:
    remedy = 'Write LIBRARY = ["matmul"]: a list of operator names.'
    for node in nodes:
        value = _value(node)
        entries = value.elts if isinstance(value, ast.List | ast.Tuple | ast.Set) else None
        if entries is None and isinstance(value, _LITERALS):
            raise text.error("LIBRARY is not a list of names", remedy, node)
        for entry in entries or []:
            if isinstance(entry, _LITERALS) and not (isinstance(entry, ast.Constant) and isinstance(entry.value, str)):
                raise text.error("an entry of LIBRARY is not a name", remedy, entry)


def _check_constraints(text: ProblemText, _nodes: list[ast.stmt]) -> None:
    """Written out, so that everybody who reads the problem sees what kernels may rely on."""
    line = constraints.line_of(text.tree)
    try:
        found, _ = constraints.of_source(text.problem.source)
        names = _parameters(text)
        if names is not None:
            constraints.check_names(found, names)
    except constraints.ConstraintError as error:
        raise ProblemError(str(error), remedy=constraints.REMEDY, path=text.problem.path, line=line) from None


def _parameters(text: ProblemText) -> tuple[str, ...] | None:
    """The parameters of `Model.forward` without self; None where reading does not tell."""
    model = text.definition("Model")
    forward = _method(model, "forward") if isinstance(model, ast.ClassDef) else None
    if forward is None:
        return None
    return tuple(argument.arg for argument in (*forward.args.posonlyargs, *forward.args.args))[1:]


_CHECKS: dict[str, Callable[[ProblemText, list[ast.stmt]], None]] = {
    "TOLERANCE": _check_tolerance,
    "INPUT_SETS": partial(_check_functions, "INPUT_SETS"),
    "INIT_SETS": partial(_check_functions, "INIT_SETS"),
    "SHAPES": _check_shapes,
    "HELD_OUT": _check_held_out,
    "OBJECTIVE": _check_objective,
    "BACKWARD": _check_backward,
    "LIBRARY": _check_library,
    constraints.NAME: _check_constraints,
}
