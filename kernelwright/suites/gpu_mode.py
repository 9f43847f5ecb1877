"""GPU MODE leaderboards: folders of `task.yml`, and `reference.py` with `ref_kernel`, `generate_input` and a checker.

Benchmark cases become input sets, test cases held-out ones. Kernels go back with `bundle --format gpu-mode`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelwright.suites.composition import Shape, init_function, input_functions, module
from kernelwright.suites.literals import module_tree, yaml_file
from kernelwright.suites.modules import bundled, portable
from kernelwright.suites.suite import Reading, outdated
from services.domain.errors import ProblemError

_BY_ELEMENT = ("make_match_reference", "match_reference", "verbose_allclose", "verbose_allequal")
"""What checkers of the suite compare outputs with the reference's by."""
_CONTEXTS = ("DeterministicContext", "DisableCuDNNTF32")
"""Settings of torch around the reference; the referee has its own, and tracing does not cross them."""
_ARGUMENTS = """import random


def _arguments(spec):
    data = generate_input(**spec{seed})
    return list(data) if isinstance(data, (tuple, list)) else [data]"""
_SEED = ", seed=random.randrange(2**31)"
_MODEL = """class Model(torch.nn.Module):
    def forward(self, {parameters}):
        return ref_kernel({data})"""
_ANOTHER = "Submit to the leaderboard itself."


class GpuMode:
    """A checkout of reference-kernels, or a folder with tasks of one's own."""

    name = "gpu-mode"
    advice = "git clone https://github.com/gpu-mode/reference-kernels, and name its folder with --path"

    def find(self, checkout: Path) -> Sequence[Path]:
        """Folders with a task."""
        return [path.parent for path in sorted(checkout.rglob("task.yml"))]

    def holds(self, path: Path) -> bool:
        """Whether a folder has a task."""
        return (path / "task.yml").is_file()

    def read(self, item: Path) -> Sequence[Reading]:
        """The task's one problem."""
        task = yaml_file(item / "task.yml")
        if not isinstance(task, dict):
            raise outdated("it holds no mapping", item / "task.yml")
        benchmarks, tests = (_cases(task, kind, item) for kind in ("benchmarks", "tests"))
        files = _files(task, item)
        _, tree = module_tree(files["reference"], "reference")
        _check_checker(tree, files["reference"])
        reference = _function(tree, "ref_kernel", files["reference"])
        generate = _function(tree, "generate_input", files["reference"])
        text = bundled(files["reference"], ["generate_input", "ref_kernel"], files, replaced=_contexts(tree))
        parts = [
            _returning(text),
            _model(reference, generate),
            _ARGUMENTS.format(seed=_SEED if "seed" in _parameters(generate) else ""),
            _inputs(benchmarks or tests, tests if benchmarks else []),
            init_function(),
        ]
        return [Reading(source=portable(module(*parts)), group=item.parent.name)]


def _files(task: dict[str, Any], item: Path) -> dict[str, Path]:
    """The task's Python files by module name; those beside `task.yml` where it lists none."""
    listed = task.get("files") or [{"name": path.name, "source": path.name} for path in sorted(item.glob("*.py"))]
    found = {}
    for entry in listed:
        name, source = str(entry.get("name")), str(entry.get("source"))
        if name.endswith(".py") and not source.startswith("@"):
            found[name.removesuffix(".py")] = item / source
    if "reference" not in found:
        raise outdated("it lists no reference.py", item / "task.yml")
    for path in found.values():
        if not path.is_file():
            raise outdated(f"its file {path.relative_to(item)} is missing", item / "task.yml")
    return found


def _cases(task: dict[str, Any], kind: str, item: Path) -> list[Shape]:
    """A task's cases without their seeds, each once. Raises `ProblemError`."""
    found: list[Shape] = []
    for case in task.get(kind) or []:
        if not isinstance(case, dict):
            raise outdated(f"a case of {kind} is no mapping", item / "task.yml")
        if "world_size" in case or task.get("multi_gpu"):
            raise ProblemError("it needs several GPUs", remedy=_ANOTHER, path=str(item / "task.yml"))
        shape = {str(name): value for name, value in case.items() if name != "seed"}
        if shape not in found:
            found.append(shape)
    if kind == "tests" and not (found or task.get("benchmarks")):
        raise outdated("it has neither benchmarks nor tests", item / "task.yml")
    return found


def _check_checker(tree: ast.Module, path: Path) -> None:
    """Raise `ProblemError` where outputs other than the reference's would count as right."""
    for node in tree.body:
        names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        defines = isinstance(node, ast.FunctionDef) and node.name == "check_implementation"
        assigns = isinstance(node, ast.Assign) and "check_implementation" in ast.unparse(node.targets[0])
        if (defines or assigns) and not names & set(_BY_ELEMENT):
            reason = "its checker accepts other outputs than the reference's"
            raise ProblemError(reason, remedy=_ANOTHER, path=str(path), line=node.lineno)


def _function(tree: ast.Module, name: str, path: Path) -> ast.FunctionDef:
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
    if not found:
        raise outdated(f"it defines no {name}", path)
    return found[-1]


def _parameters(function: ast.FunctionDef) -> list[str]:
    return [one.arg for one in (*function.args.args, *function.args.kwonlyargs)]


def _contexts(tree: ast.Module) -> dict[str, str]:
    used = {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)}
    return {name: f"import contextlib\n\n{name} = contextlib.nullcontext" for name in _CONTEXTS if name in used}


def _returning(text: str) -> str:
    """The text with `output[...] = x` in `ref_kernel` written as a new tensor: the buffer that the suite hands over
    stays an argument, and is left alone."""
    reference = _function(ast.parse(text), "ref_kernel", Path("reference.py"))
    lines = [line.encode() for line in text.splitlines(keepends=True)]
    for node in ast.walk(reference):
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if not (isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and _is_whole(target.slice)):
            continue
        assert isinstance(node, ast.Assign)
        name, value = target.value.id, ast.get_source_segment(text, node.value)
        indent = lines[node.lineno - 1][: node.col_offset]
        new = f"{name} = ({value}).to({name}.dtype).reshape({name}.shape)\n".encode()
        lines[node.lineno - 1 : node.end_lineno] = [indent + new, *[b""] * ((node.end_lineno or 0) - node.lineno)]
    return b"".join(lines).decode()


def _is_whole(index: ast.expr) -> bool:
    whole_slice = isinstance(index, ast.Slice) and index.lower is index.upper is index.step is None
    return whole_slice or (isinstance(index, ast.Constant) and index.value is ...)


def _model(reference: ast.FunctionDef, generate: ast.FunctionDef) -> str:
    """`Model` over the values of the tuple that the suite hands over, by the reference's names where it unpacks it."""
    data = _parameters(reference)[0]
    returns = [node.value for node in ast.walk(generate) if isinstance(node, ast.Return)]
    counts = {len(value.elts) if isinstance(value, ast.Tuple) else None for value in returns}
    count = counts.pop() if len(counts) == 1 else None
    if count is None:
        return _MODEL.format(parameters="*data", data="data if len(data) > 1 else data[0]")
    unpacked = [
        [one.id for one in node.targets[0].elts if isinstance(one, ast.Name)]
        for node in ast.walk(reference)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Tuple)
        and isinstance(node.value, ast.Name)
        and node.value.id == data
    ]
    names = unpacked[0] if unpacked and len(set(unpacked[0])) == count else [f"x{index}" for index in range(count)]
    if "_" in names:
        names = [f"x{index}" for index in range(count)]
    return _MODEL.format(parameters=", ".join(names), data=f"({', '.join(names)},)")


def _inputs(timed: Sequence[Shape], held_out: Sequence[Shape]) -> str:
    hidden = [shape for shape in held_out if shape not in timed]
    functions = [f"def _test_{index}():\n    return _arguments({shape!r})" for index, shape in enumerate(hidden)]
    names = ", ".join(f"_test_{index}" for index in range(len(hidden)))
    parts = [input_functions([f"_arguments({shape!r})" for shape in timed]), *functions]
    return "\n\n\n".join([*parts, f"HELD_OUT = [{names}]"] if hidden else parts)
