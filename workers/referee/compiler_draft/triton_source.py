"""Inductor's Triton kernels as plain `@triton.jit` functions with explicit launches.

Their decorators (heuristics that search and launch) go, the configuration that the search found stays, and the few
functions of Inductor's run-time that kernels call are written out: a candidate imports nothing of the compiler's.
"""

from __future__ import annotations

import ast
import builtins
import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from workers.referee.compiler_draft.body import MethodBody, rewritten
from workers.referee.compiler_draft.graph import CompiledGraph, DraftedProblem, KernelConfig, NoDraftError

MOST_TUNED = 3
"""Kernels whose configuration is among `TUNABLES`; those of others are written into their launches."""
_KERNEL = re.compile(r"^(\w+) = async_compile\.triton\('(\w+)', r?'''(.*?)'''", re.MULTILINE | re.DOTALL)
_CHOICE = re.compile(r"^(\w+) = async_compile\.multi_kernel\('\w+', \[(.*?)\]", re.MULTILINE | re.DOTALL)
_HEAD = """\
import torch
import triton
import triton.language as tl
from torch import nn
from triton.language import math as tl_math
from triton.language.extra import libdevice
"""
_KNOWN = {"tl", "triton", "libdevice", "tl_math", "float", "int", "bool", "constexpr_function"}
_GRIDS = {
    "Grid1D": (("xnumel", "XBLOCK"),),
    "Grid2D": (("xnumel", "XBLOCK"), ("ynumel", "YBLOCK")),
    "Grid3D": (("xnumel", "XBLOCK"), ("ynumel", "YBLOCK"), ("znumel", "ZBLOCK")),
    "Grid2DWithYZOverflow": (("xnumel", "XBLOCK"), ("ynumel", "YBLOCK")),
    "SplitScanGrid": (("r0_numel", "R0_BLOCK"), ("xnumel", None)),
}
"""What each of Inductor's grids covers, dimension by dimension: a size, and the block it is cut into."""
_MOST_ROWS = 65535
"""Blocks that CUDA has along its second dimension."""


@dataclass(frozen=True, kw_only=True)
class _Kernel:
    """One kernel of a program."""

    function: ast.FunctionDef
    others: tuple[ast.FunctionDef, ...]
    """Functions of its own that it calls, such as the one that a scan combines values by."""
    grid: str
    """Inductor's name of its grid."""
    parameters: tuple[str, ...]
    """What it is called with."""
    blocks: tuple[str, ...]
    """Its compile-time constants."""
    config: KernelConfig


class TritonKernels:
    """The kernels of all programs of a problem, each under a name of its own."""

    def __init__(self, problem: DraftedProblem) -> None:
        self._problem = problem
        self._texts: dict[str, str] = {}
        self._helpers: dict[str, str] = {}
        self._tunables: dict[str, int] = {}

    @property
    def names(self) -> Sequence[str]:
        """Of all kernels."""
        return tuple(self._texts)

    def body(self, number: int, graph: CompiledGraph) -> MethodBody:
        """The statements for one program; its kernels are added. Raises `NoDraftError`."""
        texts = {name: text for name, _, text in _KERNEL.findall(graph.code)}
        choices = {name: kernels.replace(",", " ").split() for name, kernels in _CHOICE.findall(graph.code)}

        def launch(name: str, arguments: list[ast.expr]) -> list[str]:
            chosen = graph.picked.get(name, choices[name][0]) if name in choices else name
            if chosen not in texts:
                raise NoDraftError(f"the compiled code calls {name}, which is not the compiler's own kernel")
            kernel = _read(chosen, texts[chosen], graph.configs.get(chosen, ()))
            return self._launched(f"{chosen}_{number}", kernel, [ast.unparse(argument) for argument in arguments])

        return rewritten(graph, self._problem.library, launch)

    def source(self) -> str:
        """Imports, parameters, helpers and kernels."""
        parts = [_HEAD]
        if self._tunables:
            parts.append("TUNABLES = {" + ", ".join(f'"{key}": [{one}]' for key, one in self._tunables.items()) + "}\n")
        return "\n\n".join([*parts, *self._helpers.values(), *self._texts.values(), ""])

    def _launched(self, name: str, kernel: _Kernel, arguments: list[str]) -> list[str]:
        renamed = {other.name: f"{name}{other.name}" for other in kernel.others}
        for other in kernel.others:
            self._helpers[renamed[other.name]] = self._plain(renamed[other.name], other, renamed)
        self._texts[name] = self._plain(name, kernel.function, renamed)
        fixed = arguments[len(kernel.parameters) :] if kernel.grid == "FixedGrid" else []
        given = dict(zip(kernel.parameters, arguments, strict=False))
        if len(given) + len(fixed) != len(arguments) or len(given) != len(kernel.parameters):
            raise NoDraftError(f"the kernel {name} is called with {len(arguments)} arguments")
        values = self._values(name, kernel)
        grid = ", ".join(fixed) if fixed else _grid(kernel, given, values)
        options = [f"{key}={value}" for key, value in values.items()]
        return [f"{name}[({grid},)]({', '.join([*given.values(), *options])})"]

    def _values(self, name: str, kernel: _Kernel) -> dict[str, str]:
        """The configuration as it is written into a launch: read from `TUNABLES`, for the first kernels."""
        config = kernel.config
        missing = [block for block in kernel.blocks if block not in config.blocks]
        if missing:
            raise NoDraftError(f"the compiler's search left no value for {missing[0]} of the kernel {name}")
        found = {block: config.blocks[block] for block in kernel.blocks}
        found |= {"num_warps": config.warps, "num_stages": config.stages}
        number = list(self._texts).index(name)
        if number >= MOST_TUNED:
            return {key: str(value) for key, value in found.items()}
        values = {}
        for key, value in found.items():
            self._tunables[f"{key}_{number}".upper()] = value
            values[key] = f'TUNABLES["{f"{key}_{number}".upper()}"][0]'
        return values

    def _plain(self, name: str, function: ast.FunctionDef, others: dict[str, str]) -> str:
        """A kernel's text under its own name, with the helpers it calls added. Raises `NoDraftError`."""
        plain = ast.parse(ast.unparse(function)).body[0]
        assert isinstance(plain, ast.FunctionDef)
        plain.name, plain.decorator_list = name, [ast.parse("triton.jit", mode="eval").body]
        for node in ast.walk(plain):
            if isinstance(node, ast.Name):
                node.id = others.get(node.id, node.id)
        return ast.unparse(_Helpers(self._helpers).visit(plain))


class _Helpers(ast.NodeTransformer):
    """`triton_helpers.f` becomes `helper_f`, which is written out before."""

    def __init__(self, known: dict[str, str]) -> None:
        self._known = known

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id == "triton_helpers":
            return ast.Name(id=_helper(node.attr, self._known), ctx=ast.Load())
        self.generic_visit(node)
        return node


def _helper(name: str, known: dict[str, str]) -> str:
    """The name of a helper of Inductor's, which is added with all that it calls. Raises `NoDraftError`."""
    own = f"helper_{name}"
    if own in known:
        return own
    defined = _runtime()
    node = defined.get(name)
    if node is None:
        raise NoDraftError(f"a kernel calls triton_helpers.{name}, which cannot be written out")
    copy = ast.parse(ast.unparse(node)).body[0]
    local = {item.arg for item in ast.walk(copy) if isinstance(item, ast.arg)}
    local |= {item.id for item in ast.walk(copy) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)}
    for item in ast.walk(copy):
        if not isinstance(item, ast.Name) or (item.id in local and item.id not in defined):
            continue
        if item.id in defined and not (isinstance(copy, ast.FunctionDef) and item.id in local):
            item.id = own if item.id == name else _helper(item.id, known)
        elif item.id == "math":
            item.id = "tl_math"
        elif item.id not in _KNOWN | local and not hasattr(builtins, item.id):
            raise NoDraftError(f"a kernel calls triton_helpers.{name}, which needs {item.id}")
    if isinstance(copy, ast.FunctionDef):
        copy.name = own
    known[own] = ast.unparse(copy)
    return own


@functools.cache
def _runtime() -> dict[str, ast.stmt]:
    """Functions and constants of Inductor's run-time for Triton kernels, by name."""
    import torch

    path = Path(torch.__file__).parent / "_inductor" / "runtime" / "triton_helpers.py"
    found: dict[str, ast.stmt] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and any("jit" in ast.unparse(one) for one in node.decorator_list):
            found[node.name] = node
    return found


def _read(name: str, text: str, configs: Sequence[KernelConfig]) -> _Kernel:
    """A kernel from its text. Raises `NoDraftError`."""
    functions = [one for one in ast.parse(text).body if isinstance(one, ast.FunctionDef)]
    if not functions:
        raise NoDraftError(f"the kernel {name} has no function")
    function = functions[-1]
    arguments = function.args.args
    blocks = tuple(one.arg for one in arguments if one.annotation is not None)
    config = configs[0] if configs else _written_config(function)
    if config is None:
        raise NoDraftError(f"the compiler's search left no configuration for the kernel {name}")
    return _Kernel(
        function=function,
        others=tuple(functions[:-1]),
        grid=_grid_name(function),
        parameters=tuple(one.arg for one in arguments if one.annotation is None),
        blocks=blocks,
        config=config,
    )


def _grid_name(function: ast.FunctionDef) -> str:
    """What Inductor's decorator says of the grid."""
    for node in ast.walk(ast.Module(body=list(map(ast.Expr, function.decorator_list)), type_ignores=[])):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "grid_type" and isinstance(value, ast.Constant):
                    return str(value.value)
    return "Grid1D"


def _written_config(function: ast.FunctionDef) -> KernelConfig | None:
    """A template's configuration, which its decorator states."""
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call):
            stated = {one.arg: one.value.value for one in decorator.keywords if isinstance(one.value, ast.Constant)}
            warps, stages = stated.get("num_warps"), stated.get("num_stages")
            if isinstance(warps, int) and isinstance(stages, int):
                return KernelConfig(blocks={}, warps=warps, stages=stages)
    return None


def _grid(kernel: _Kernel, given: dict[str, str], values: dict[str, str]) -> str:
    """How many blocks along each dimension. Raises `NoDraftError` for a grid that a plain launch cannot have."""
    dimensions = _GRIDS.get(kernel.grid)
    if dimensions is None:
        raise NoDraftError(f"the compiler launches a kernel by {kernel.grid}, which a plain launch cannot")
    counts = []
    for size, block in dimensions:
        if size not in given:
            raise NoDraftError(f"a kernel's grid needs {size}, which it is not called with")
        cut = block is not None and block in values
        counts.append(f"triton.cdiv({given[size]}, {values[block or '']})" if cut else given[size])
    if kernel.grid == "Grid2DWithYZOverflow":
        counts[1:] = [f"min({counts[1]}, {_MOST_ROWS})", f"triton.cdiv({counts[1]}, {_MOST_ROWS})"]
    return ", ".join(counts)
