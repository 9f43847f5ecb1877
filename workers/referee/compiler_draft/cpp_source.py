"""Inductor's C++ kernels as one source with the C ABI."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from workers.referee.compiler_draft.body import MethodBody, rewritten
from workers.referee.compiler_draft.graph import CompiledGraph, DraftedProblem, NoDraftError

FLAGS = ("-ffp-contract=off",)
"""What Inductor compiles its kernels with, as far as it bears on their results. It names `-ffast-math` besides and
takes back all that this changes."""
_KERNEL = re.compile(r"^(\w+) = async_compile\.cpp_pybinding\((\[.*?\]), r?'''(.*?)'''\)", re.MULTILINE | re.DOTALL)
_HEADER = re.compile(r"^[ \t]*#include [<\"]?\S*cpp_prefix\.h[>\"]?[ \t]*\n|^[ \t]*#include \S+\n", re.MULTILINE)
_ENTRY = re.compile(r'extern "C"\s+void\s+kernel\(')
_DIVISION_GUARD = re.compile(r"^[ \t]*[^\n]*inductor_cpu_(?:integer_div_error|throw_if)[^\n]*\n", re.MULTILINE)
_CAPABILITY = "CPU_CAPABILITY_"
_SCALARS = ("int64_t", "double")
"""Types of scalar arguments that Inductor's kernels take."""


class CppKernels:
    """The kernels of all programs of a problem, each under a name of its own."""

    def __init__(self, problem: DraftedProblem) -> None:
        self._problem = problem
        self._texts: dict[str, str] = {}

    def body(self, number: int, graph: CompiledGraph) -> MethodBody:
        """The statements for one program; its kernels are added. Raises `NoDraftError`."""
        known = {name: (types, text) for name, types, text in _KERNEL.findall(graph.code)}

        def launch(name: str, arguments: list[ast.expr]) -> list[str]:
            if name not in known:
                raise NoDraftError(f"the compiled code calls {name}, which is not the compiler's own kernel")
            types, text = known[name]
            own = self._add(f"{name}_{number}", text)
            return [f"LIBRARY.{own}({', '.join(_passed(arguments, ast.literal_eval(types)))})"]

        return rewritten(graph, self._problem.library, launch)

    def _add(self, name: str, text: str) -> str:
        """The name under which a kernel is in the source: that of the same text, if it is there already."""
        if len(_ENTRY.findall(text)) != 1:
            raise NoDraftError("a compiled kernel has an entry that is not known")
        body = _DIVISION_GUARD.sub("", _HEADER.sub("", text)).strip("\n")
        for known, other in self._texts.items():
            if other == body:
                return known
        self._texts[name] = body
        return name

    @property
    def names(self) -> Sequence[str]:
        """Of all kernels."""
        return tuple(self._texts)

    def source(self) -> str:
        """All of it, for the compiler."""
        macros = self._problem.vector_macros
        head = [f"#define {macro}" for macro in macros]
        head += [f"#define CPU_CAPABILITY {one.removeprefix(_CAPABILITY)}" for one in macros if _CAPABILITY in one]
        head.append("#include <torch/csrc/inductor/cpp_prefix.h>")
        kernels = [_ENTRY.sub(f'extern "C" void {name}(', text) for name, text in self._texts.items()]
        return "\n".join([*head, "", *kernels, ""])


def _passed(arguments: list[ast.expr], types: list[str]) -> list[str]:
    """Arguments as the run-time module takes them: addresses of tensors (whose layout was looked at), and numbers."""
    if len(arguments) != len(types):
        raise NoDraftError("a compiled kernel is called with other arguments than it takes")
    return [_one(ast.unparse(argument), kind) for argument, kind in zip(arguments, types, strict=True)]


def _one(text: str, kind: str) -> str:
    if kind.endswith("*"):
        return f"{text}.data_ptr()"
    if kind.removeprefix("const ").strip() not in _SCALARS:
        raise NoDraftError(f"a compiled kernel takes a number of type {kind}")
    return f"float({text})" if "double" in kind else text
