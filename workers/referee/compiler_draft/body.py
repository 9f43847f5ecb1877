"""The compiler's `call` function, rewritten statement by statement into the body of a method.

Only what is understood is carried over: anything else is a reason for having no draft, never a guess.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from workers.referee.compiler_draft.graph import CompiledGraph, NoDraftError
from workers.referee.screen.rules import permitted

_DROPPED_CALLS = ("assert_alignment", "torch.cuda.set_device", "args.clear")
_ALLOCATIONS = ("empty_strided_cpu", "empty_strided_cuda")
_LIBRARY = {"mm": "mm", "bmm": "bmm", "addmm": "addmm", "bias_addmm": "addmm", "baddbmm": "baddbmm"}
_LIBRARY |= {"convolution": "convolution"}
"""Inductor's names of library calls, and torch's."""
_RANDOM = ("randint", "rand", "randn", "normal", "bernoulli", "inductor_seeds", "inductor_random", "philox_rand")
_PLAIN = (
    ast.Name, ast.Constant, ast.Tuple, ast.List, ast.BinOp, ast.UnaryOp, ast.Load, ast.operator, ast.unaryop,
    ast.Compare, ast.cmpop, ast.IfExp,
)  # fmt: skip
"""What an expression over sizes is made of."""

Launch = Callable[[str, list[ast.expr]], list[str]]
"""The statements that launch a kernel with arguments."""


@dataclass(frozen=True, kw_only=True)
class MethodBody:
    """A method's statements, without indentation of their own."""

    lines: tuple[str, ...]
    results: tuple[str, ...]
    """The tensors that it returns."""


def rewritten(graph: CompiledGraph, library: frozenset[str], launch: Launch) -> MethodBody:
    """The body for one of the compiler's programs. Raises `NoDraftError` for what a candidate cannot carry."""
    return _Rewriting(graph, library, launch).body()


class _Rewriting:
    def __init__(self, graph: CompiledGraph, library: frozenset[str], launch: Launch) -> None:
        self._graph = graph
        self._library = library
        self._launch = launch
        self._inputs: dict[str, str] = {}
        self._results: tuple[str, ...] | None = None

    def body(self) -> MethodBody:
        lines = [line for statement in _call_of(self._graph.code).body for line in self._statement(statement)]
        if self._results is None:
            raise NoDraftError("the compiled code returns nothing")
        return MethodBody(lines=tuple(lines), results=self._results)

    def _statement(self, node: ast.stmt) -> Iterator[str]:
        if isinstance(node, ast.With) and _name(node.items[0].context_expr).startswith("torch.cuda._DeviceGuard"):
            for inner in node.body:
                yield from self._statement(inner)
        elif isinstance(node, ast.Assign):
            yield from self._assignment(node)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield from self._called(node.value)
        elif isinstance(node, ast.Delete):
            yield ast.unparse(node)
        elif isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
            self._results = tuple(self._expression(item) for item in node.value.elts)
        elif not isinstance(node, ast.Pass):
            raise _foreign(node)

    def _assignment(self, node: ast.Assign) -> Iterator[str]:
        target, value = node.targets[0], node.value
        if isinstance(value, ast.Name) and value.id == "args":
            yield from self._bound(target)
        elif isinstance(value, ast.Call) and _name(value.func) in ("get_raw_stream", "get_raw_cuda_stream"):
            return
        elif isinstance(target, ast.Name) and isinstance(value, ast.Call) and _is_library(value):
            yield f"{target.id} = {self._library_call(value)}"
        elif isinstance(target, ast.Name):
            yield f"{target.id} = {self._expression(value)}"
        else:
            raise _foreign(node)

    def _bound(self, target: ast.expr) -> Iterator[str]:
        """The names that the program gives its arguments."""
        names = [item.id for item in target.elts if isinstance(item, ast.Name)] if isinstance(target, ast.Tuple) else []
        if len(names) != len(self._graph.inputs):
            raise NoDraftError("the compiled code takes other arguments than the compiler was given")
        for name, given in zip(names, self._graph.inputs, strict=True):
            self._inputs[name] = given
            yield f"{name} = {_state(given)}"

    def _called(self, node: ast.Call) -> Iterator[str]:
        name = _name(node.func)
        if name in _DROPPED_CALLS:
            return
        if name == "assert_size_stride":
            yield from self._checked(node)
        elif name.endswith(".zero_") and not node.args:
            yield ast.unparse(node)
        elif _is_library(node):
            yield self._library_call(node)
        elif "." not in name or name.endswith(".run"):
            arguments = [_parsed(self._expression(argument)) for argument in node.args]
            yield from self._launch(name.removesuffix(".run"), arguments)
        else:
            raise NoDraftError(f"the compiled code calls {name}, which is not the compiler's own kernel")

    def _checked(self, node: ast.Call) -> Iterator[str]:
        """The compiler's check of an input's layout: kept where sizes are symbols, else the sizes were looked at."""
        tensor, size, stride = (ast.unparse(argument) for argument in node.args[:3])
        given = self._inputs.get(tensor)
        if self._graph.dynamic and given is not None and not given.startswith("self@"):
            yield f'expect({tensor}, "{given}", {size}, {stride})'

    def _library_call(self, node: ast.Call) -> str:
        """A call of a library's kernel, where problem or job allow the operator. Raises `NoDraftError`."""
        name = _operator(_name(node.func))
        if name in _RANDOM:
            raise NoDraftError("the problem draws random numbers, which no kernel can draw again")
        if name not in _LIBRARY:
            raise NoDraftError(f"the compiler leaves {name} to a library and writes no kernel for it")
        if not permitted(_LIBRARY[name], self._library):
            raise NoDraftError(
                f"the compiler leaves {_LIBRARY[name]} to a library, which neither problem nor job allows "
                f"(--allow-library {_LIBRARY[name]})"
            )
        arguments = [self._expression(argument) for argument in node.args]
        arguments += [f"{one.arg}={self._expression(one.value)}" for one in node.keywords if one.arg]
        return f"torch.{_LIBRARY[name]}({', '.join(arguments)})"

    def _expression(self, node: ast.expr) -> str:
        """An expression over sizes and buffers. Raises `NoDraftError`."""
        return ast.unparse(_Expressions(self._graph).visit(_parsed(ast.unparse(node))))


class _Expressions(ast.NodeTransformer):
    """Allocations and views in torch's own words."""

    def __init__(self, graph: CompiledGraph) -> None:
        self._graph = graph

    def visit_Call(self, node: ast.Call) -> ast.expr:
        name = _name(node.func)
        arguments = [self.visit(argument) for argument in node.args]
        texts = [ast.unparse(argument) for argument in arguments]
        if name in _ALLOCATIONS and len(texts) == 3:
            device = f", device={self._graph.arguments[0].name}.device" if name.endswith("cuda") else ""
            return _parsed(f"torch.empty_strided({texts[0]}, {texts[1]}, dtype={texts[2]}{device})")
        if name == "reinterpret_tensor" and len(texts) == 4:
            offset = "" if texts[3] == "0" else f" + {texts[3]}"
            return _parsed(f"{texts[0]}.as_strided({texts[1]}, {texts[2]}, {texts[0]}.storage_offset(){offset})")
        if name in ("max", "min", "abs") or (name.endswith(".size") and not node.args):
            return ast.Call(func=node.func, args=arguments, keywords=[])
        raise NoDraftError(f"the compiled code calls {name}, which a candidate cannot")

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if not _name(node).startswith("torch."):
            raise NoDraftError(f"the compiled code uses {_name(node)}, which a candidate cannot")
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if not isinstance(node, _PLAIN):
            raise _foreign(node)
        return super().generic_visit(node)


def _call_of(code: str) -> ast.FunctionDef:
    """The function that runs the program's kernels."""
    try:
        tree = ast.parse(code)
    except SyntaxError as error:
        raise NoDraftError(f"the compiler's program cannot be read: {error.msg}") from None
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "call"]
    if len(found) != 1:
        raise NoDraftError(f"the compiler's program is in {len(found)} parts, not in one")
    return found[0]


def _is_library(node: ast.Call) -> bool:
    return _name(node.func).startswith(("extern_kernels.", "torch.ops.", "aten.", "inductor_ops."))


def _operator(name: str) -> str:
    """`mm` of `extern_kernels.mm`, `cumsum` of `torch.ops.aten.cumsum.default`."""
    parts = name.split(".")
    return parts[-2] if parts[0] in ("torch", "aten", "inductor_ops") and len(parts) > 2 else parts[-1]


def _state(given: str) -> str:
    """A parameter or buffer, detached: nothing is differentiated here."""
    if not given.startswith("self@"):
        return given
    path = given.removeprefix("self@")
    steps = path.split(".")
    if all(step.isidentifier() for step in steps):
        return f"self.{path}.detach()"
    return f'self.get_submodule("{".".join(steps[:-1])}").{steps[-1]}.detach()'


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _name(node: ast.AST) -> str:
    return ast.unparse(node).split("(")[0]


def _foreign(node: ast.AST) -> NoDraftError:
    return NoDraftError(f"the compiled code has a statement that a candidate cannot carry: {ast.unparse(node)[:120]}")
