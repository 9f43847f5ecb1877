"""kernelbench.com (Hard, CUDA, Mini): folders of `reference.py` in KernelBench form and `shapes.py` with `SHAPES`.

The suite sets module-level names of `reference.py` to each shape in turn, and `get_inputs` and `get_init_inputs` read
them. Shapes that differ only in what `get_inputs` reads become input sets; others become problems of their own.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelwright.suites.composition import Shape, input_functions, module, names_used, split_by, variant
from kernelwright.suites.literals import NotConstantError, constants, evaluated, module_tree
from kernelwright.suites.modules import portable
from kernelwright.suites.suite import Reading, outdated
from services.domain.errors import ProblemError
from services.problems.source import bound_names

_SHAPED = """# What follows was added: the suite sets these names to each shape in turn.
_drawn = get_inputs


def _shaped(shape):
    globals().update(shape)
    return _drawn()"""
_ANOTHER = "Run it with the suite's own harness."


class KernelBenchCom:
    """A checkout of kernelbench.com."""

    name = "kernelbench.com"
    advice = "git clone https://github.com/Infatoshi/kernelbench.com, and name its folder with --path"

    def find(self, checkout: Path) -> Sequence[Path]:
        """Folders that hold both files."""
        return [path.parent for path in sorted(checkout.rglob("shapes.py")) if self.holds(path.parent)]

    def holds(self, path: Path) -> bool:
        """Whether a folder has a reference and shapes."""
        return (path / "reference.py").is_file() and (path / "shapes.py").is_file()

    def read(self, item: Path) -> Sequence[Reading]:
        """One problem for each group of shapes that build the same model."""
        reference = item / "reference.py"
        text, tree = module_tree(reference, "reference")
        _check_drivable(tree, reference)
        shapes = [_renamed(shape, tree, item) for shape in _shapes(item / "shapes.py")]
        groups = split_by(shapes, names_used(tree, ["get_init_inputs", "Model"]))
        return [
            Reading(
                source=_source(text, group),
                variant=variant(group, groups),
                group=constants(tree).get("OP_TYPE"),
            )
            for group in groups
        ]


def _shapes(path: Path) -> list[dict[str, Any]]:
    _, tree = module_tree(path, "list of shapes")
    assigned = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and node.value is not None
        and "SHAPES" in ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
    ]
    try:
        shapes = evaluated(assigned[-1], constants(tree)) if assigned else None
    except NotConstantError as error:
        reason = f"SHAPES is not a plain list: {error}"
        raise ProblemError(reason, remedy="Write the shapes out.", path=str(path)) from None
    if not isinstance(shapes, list) or not shapes or not all(isinstance(shape, dict) for shape in shapes):
        raise outdated("it defines no list SHAPES of dicts", path)
    return shapes


def _check_drivable(tree: ast.Module, path: Path) -> None:
    """Raise `ProblemError` where the suite's harness does more than set names."""
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    for name in ("get_inputs", "get_init_inputs"):
        if name not in functions:
            raise ProblemError(f"it has no {name}: only its own check.py runs it", remedy=_ANOTHER, path=str(path))
    returned = functions["get_inputs"].body[-1]
    if isinstance(returned, ast.Return) and isinstance(returned.value, ast.List) and not returned.value.elts:
        reason = "get_inputs returns nothing: its own check.py drives a whole loop"
        raise ProblemError(reason, remedy=_ANOTHER, path=str(path), line=returned.lineno)
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        if any(name.startswith("torch.distributed") for name in names):
            line = getattr(node, "lineno", None)
            raise ProblemError("it needs several GPUs (torch.distributed)", remedy=_ANOTHER, path=str(path), line=line)


def _renamed(shape: Shape, tree: ast.Module, item: Path) -> dict[str, Any]:
    """The shape under the names that the module reads. Raises `ProblemError`."""
    read = names_used(tree, ["get_inputs", "get_init_inputs", "Model"])
    bound = {name for node in tree.body for name in bound_names(node)}
    found = {}
    for name, value in shape.items():
        spellings = (name, name.upper(), name.lower())
        known = next((one for names in (read & bound, read) for one in spellings if one in names), None)
        if known is None:
            reason = f"nothing in reference.py reads {name} of SHAPES"
            raise ProblemError(reason, remedy=_ANOTHER, path=str(item / "shapes.py"))
        found[known] = value
    return found


def _source(text: str, group: Sequence[Shape]) -> str:
    first, *others = group
    names = "\n".join(f"{name} = {value!r}" for name, value in first.items())
    if not others:
        return portable(module(text, f"# What follows was added: the shape.\n{names}"))
    calls = [f"_shaped({dict(shape)!r})" for shape in group]
    return portable(module(text, names, _SHAPED, input_functions(calls)))
