"""Which expressions of a candidate's module stand for its own compiled kernels, and which for plain Python values.

A name is a handle when it was assigned a compiled library, a function of one, a container or comprehension of those,
or the result of a function of the module that makes one; a loop variable over handles is one, and so is a parameter
that every call in the module gives a handle.
"""

from __future__ import annotations

import ast

KERNEL_MAKERS = ("compile_cpp", "compile_cuda", "load_inline", "load", "jit", "RawKernel", "RawModule")
_PLAIN_CALLS = ("list", "dict", "set", "tuple", "sorted", "range", "str", "int", "float", "len", "deque", "OrderedDict")
_ROUNDS = 4
"""Assignments of assignments are followed so deep."""


class Handles:
    """Names and attributes of one module."""

    def __init__(self, tree: ast.Module) -> None:
        self._names: set[str] = set()
        self._plain: set[str] = set()
        self._asking: set[str] = set()
        """Functions whose results are being resolved: one that calls itself adds nothing."""
        self._classes = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
        self._objects: set[str] = set()
        """Names and attributes that hold an instance of a class of the module."""
        self._functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        self._nodes = list(ast.walk(tree))
        for _ in range(_ROUNDS):
            before = len(self._names)
            self._learn()
            if len(self._names) == before:
                break

    def is_kernel(self, node: ast.expr) -> bool:
        """Whether `node` is a compiled library, a function of one, or a container of them."""
        if isinstance(node, ast.Name):
            return node.id in self._names
        if isinstance(node, ast.Attribute):
            return node.attr in self._names if _is_self(node.value) else self.is_kernel(node.value)
        if isinstance(node, ast.Subscript):
            return self.is_kernel(node.value)
        if isinstance(node, ast.Call):
            return makes_kernel(node) or self._gives_kernel(node)
        if isinstance(node, ast.IfExp):
            return self.is_kernel(node.body) and self.is_kernel(node.orelse)
        if isinstance(node, ast.Dict):
            return bool(node.values) and all(self.is_kernel(value) for value in node.values)
        if isinstance(node, ast.List | ast.Tuple):
            return bool(node.elts) and all(self.is_kernel(value) for value in node.elts)
        if isinstance(node, ast.DictComp):
            return self.is_kernel(node.value)
        return isinstance(node, ast.ListComp | ast.GeneratorExp) and self.is_kernel(node.elt)

    def is_plain(self, node: ast.expr) -> bool:
        """Whether `node` is a Python container, text or number rather than a tensor."""
        if isinstance(node, ast.Name):
            return node.id in self._plain
        return _is_plain_value(node)

    def is_own_object(self, node: ast.expr) -> bool:
        """Whether `node` is a class of the module or an instance of one: its methods are the module's functions."""
        if isinstance(node, ast.Name):
            return node.id in self._classes or node.id in self._objects
        if isinstance(node, ast.Attribute):
            return _is_self(node.value) and node.attr in self._objects
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in self._classes

    def _gives_kernel(self, call: ast.Call) -> bool:
        """A call of a function of the module that returns a kernel, or a look into a container of kernels."""
        name = _called(call)
        if isinstance(call.func, ast.Attribute) and name in ("get", "values", "items", "setdefault"):
            return self.is_kernel(call.func.value)
        if name in ("getattr", "partial", "tuple", "list", "enumerate", "zip"):
            return bool(call.args) and self.is_kernel(call.args[0])
        function = self._functions.get(name)
        if function is None or name in self._asking:
            return False
        returned = [node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value]
        self._asking.add(name)
        try:
            return bool(returned) and all(self.is_kernel(value) for value in returned)
        finally:
            self._asking.discard(name)

    def _learn(self) -> None:
        for node in self._nodes:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self._bind(target, node.value)
            elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
                self._bind(node.target, node.value)
            elif isinstance(node, ast.For | ast.comprehension):
                self._bind_loop(node.target, node.iter)
        for function in self._functions.values():
            self._bind_parameters(function)

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Subscript):
            target = target.value
        elif _is_plain_value(value) and isinstance(target, ast.Name) and not self.is_kernel(value):
            self._plain.add(target.id)
        if self.is_kernel(value):
            self._add(target)
        if isinstance(value, ast.Call) and self.is_own_object(value):
            self._objects |= {target.attr} if isinstance(target, ast.Attribute) and _is_self(target.value) else set()
            self._objects |= {target.id} if isinstance(target, ast.Name) else set()

    def _bind_loop(self, target: ast.expr, iterated: ast.expr) -> None:
        if not self.is_kernel(iterated):
            return
        for item in target.elts if isinstance(target, ast.Tuple) else [target]:
            self._add(item)

    def _add(self, target: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self._names.add(target.id)
        elif isinstance(target, ast.Attribute) and _is_self(target.value):
            self._names.add(target.attr)

    def _bind_parameters(self, function: ast.FunctionDef) -> None:
        """Parameters that every call in the module gives a kernel."""
        calls = [node for node in self._nodes if isinstance(node, ast.Call) and _called(node) == function.name]
        names = [argument.arg for argument in function.args.args]
        for index, name in enumerate(names):
            given = [_given(call, name, index - (names[0] == "self")) for call in calls]
            if given and all(value is not None and self.is_kernel(value) for value in given):
                self._names.add(name)


def makes_kernel(call: ast.Call) -> bool:
    """Whether a call compiles one."""
    return _called(call) in KERNEL_MAKERS


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _given(call: ast.Call, name: str, index: int) -> ast.expr | None:
    if 0 <= index < len(call.args):
        return call.args[index]
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls", "ModelNew")


def _is_plain_value(node: ast.expr) -> bool:
    if isinstance(node, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp | ast.JoinedStr):
        return True
    if isinstance(node, ast.Constant):
        return True
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _PLAIN_CALLS
