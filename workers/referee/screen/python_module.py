"""What the screen has to know of a module: what names mean, which functions are hot, which texts are compiled."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from workers.referee.screen.cpp_rules import looks_like_cpp

ENTRY = "forward"
FORWARD_PASS, BACKWARD_PASS = ("forward", "setup_context"), ("backward", "vjp")
"""Methods of an autograd function."""
CONSTRUCTORS = ("__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__", "__class_getitem__")
"""Methods that run before any call does."""
LEFTOVERS = ("get_inputs", "get_init_inputs")
LOOK_UPS = ("KeyError", "IndexError", "AttributeError", "StopIteration")


def without_leftovers(tree: ast.Module) -> ast.Module:
    """The module without what does not run here: a problem's `get_inputs`, and what it does as a program."""
    stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    body = [node for node in tree.body if "__name__" in stored or not _is_program(node)]
    inside = [node for part in body for node in ast.walk(part)]
    used = {node.id for node in inside if isinstance(node, ast.Name)}
    used |= {node.attr for node in inside if isinstance(node, ast.Attribute)}
    unused = {name for name in LEFTOVERS if name not in used}
    body = [node for node in body if not (isinstance(node, ast.FunctionDef) and node.name in unused)]
    return ast.Module(body=body, type_ignores=[])


def _is_program(node: ast.stmt) -> bool:
    """`if __name__ == "__main__":` without an `else`."""
    return isinstance(node, ast.If) and not node.orelse and ast.unparse(node.test) == "__name__ == '__main__'"


def catches_look_up(handler: ast.ExceptHandler) -> bool:
    """Whether a handler catches only look-ups that found nothing."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return all(isinstance(kind, ast.Name) and kind.id in LOOK_UPS for kind in kinds)


def imported_names(tree: ast.Module) -> dict[str, str]:
    """What a module's names stand for, by dotted name: imports, and other names given to them."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    for node in ast.walk(tree):  # `f = torch.softmax` is an alias too
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            dotted = dotted_name(node.value)
            if dotted is not None and dotted.split(".")[0] in names:
                root, _, rest = dotted.partition(".")
                names.setdefault(node.targets[0].id, f"{names[root]}.{rest}".rstrip("."))
    return names


def dotted_name(node: ast.expr) -> str | None:
    """A name with its attributes, as it is written; None for any other expression."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None


def reachable_functions(tree: ast.Module, models: Sequence[ast.ClassDef], *, backward: bool) -> list[ast.FunctionDef]:
    """`forward` of every definition of the model, the passes of the module's autograd functions, and every function of
    the module that they can reach by name: of several that have one name, all."""
    known: dict[str, list[ast.FunctionDef]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name != "__init__":
            known.setdefault(node.name, []).append(node)
    found: list[ast.FunctionDef] = []
    queue = [
        node for model in models for node in model.body if isinstance(node, ast.FunctionDef) and node.name == ENTRY
    ]
    queue += [function for node in ast.walk(tree) for function in _passes(node, backward=backward)]
    queue += _called_by_python(tree)
    while queue:
        function = queue.pop()
        if function in found:
            continue
        found.append(function)
        for node in ast.walk(function):
            name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None
            queue += known.get(name, []) if name is not None else []
    return found


def _called_by_python(tree: ast.Module) -> list[ast.FunctionDef]:
    """Methods that are not called by name (`__call__`, `__add__`, a layer's `forward`) of classes of which the module
    makes objects."""
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name != "ModelNew"]
    bases = {id(base) for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for base in node.bases}
    found: list[ast.FunctionDef] = []
    for one in classes:
        inside = {id(node) for node in ast.walk(one)}
        is_used = any(
            isinstance(node, ast.Name) and node.id == one.name and id(node) not in bases and id(node) not in inside
            for node in ast.walk(tree)
        )
        methods = [part for part in one.body if isinstance(part, ast.FunctionDef)] if is_used else []
        found += [part for part in methods if part.name == ENTRY or _is_special(part.name)]
    return found


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and name not in CONSTRUCTORS


def _passes(node: ast.AST, *, backward: bool) -> list[ast.FunctionDef]:
    """What autograd calls of a class derived from `torch.autograd.Function`; of its backward where that runs."""
    if not isinstance(node, ast.ClassDef):
        return []
    if not any((dotted_name(base) or "").endswith("Function") for base in node.bases):
        return []
    names = (*FORWARD_PASS, *BACKWARD_PASS) if backward else FORWARD_PASS
    return [part for part in node.body if isinstance(part, ast.FunctionDef) and part.name in names]


def kernel_texts(tree: ast.Module) -> list[ast.Constant]:
    """Texts in a module that may be meant for a compiler; docstrings are not, unless one is compiled all the same."""
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in prose
        and looks_like_cpp(node.value)
    ]


def ends_by_raising(handler: ast.ExceptHandler) -> bool:
    """Whether a handler passes the failure on: it ends by raising."""
    return isinstance(handler.body[-1], ast.Raise)


def starts_plainly(key: ast.expr) -> bool:
    """An f-string or sum whose beginning is written out and not private, such as `f"run_{size}"`."""
    if isinstance(key, ast.JoinedStr) and key.values:
        key = key.values[0]
    while isinstance(key, ast.BinOp):
        key = key.left
    return isinstance(key, ast.Constant) and isinstance(key.value, str) and key.value[:1].isalpha()


def written_text(key: ast.expr) -> str | None:
    """The text that an expression gives where all of it is written out, be it in pieces; None for any other."""
    if isinstance(key, ast.Constant):
        return key.value if isinstance(key.value, str) else None
    if isinstance(key, ast.BinOp) and isinstance(key.op, ast.Add):
        left, right = written_text(key.left), written_text(key.right)
        return None if left is None or right is None else left + right
    if isinstance(key, ast.JoinedStr):
        parts = [_written_part(part) for part in key.values]
        return None if None in parts else "".join(part for part in parts if part is not None)
    return None


def _written_part(part: ast.expr) -> str | None:
    if not isinstance(part, ast.FormattedValue):
        return written_text(part)
    is_plain = part.conversion == -1 and part.format_spec is None and isinstance(part.value, ast.Constant)
    return str(part.value.value) if is_plain and isinstance(part.value, ast.Constant) else None
