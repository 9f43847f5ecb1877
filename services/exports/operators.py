"""A pip-installable package of several winners as PyTorch operators, with one dispatcher a problem.

The code that dispatches is `kernelwright_op`, which the package brings with it.
"""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Sequence
from dataclasses import dataclass

from services.domain.errors import ConflictError, UserError
from services.domain.gates import GateName, GateStatus
from services.domain.measurements import Gain, gain_of
from services.exports.evidence import evidence_files, figures
from services.exports.packages import PYPROJECT
from services.exports.winner import RUNTIME_MODULE, Winner

_DESCRIPTION = "Kernels written and judged by Kernelwright, as PyTorch operators"

_INIT = f'''"""PyTorch operators that run proven kernels, and the originals where none was proven."""

import sys

from . import {RUNTIME_MODULE}

sys.modules.setdefault("{RUNTIME_MODULE}", {RUNTIME_MODULE})  # kernels import it by its plain name

from . import {{problems}}

__all__ = [{{names}}]
'''

_PROBLEM = '''"""{title}"""

from ..kernelwright_op import Kernel, Operator

operator = Operator(
    "{package}::{problem}",
    original=__name__ + ".original",
    kernels=[
{kernels}    ],
)
Model = operator.Model
call = operator.call

__all__ = ["Model", "call", "operator"]
'''

_KERNEL = """        Kernel(
            module=__name__ + ".{module}",
            device="{device}",
            sets={sets!r},
            backward={backward},
            processor={processor!r},
        ),
"""

_README = """# {package}

PyTorch operators with kernels that were proven by Kernelwright. `Model` of each is the original module with the kernel
in its place, with the same constructor, parameters and `forward`; `call` is the operator itself,
`torch.ops.{package}.…`, on inputs and weights.

```python
from {package}.{first} import Model, call
```

{rows}

A kernel runs for the shapes, strides, dtypes, device and constructor arguments that it was proven for, in eager mode,
under `torch.compile(fullgraph=True)` and in programs of `torch.export`; every other call runs the original. A kernel
that cannot be built on a machine is named in a warning. `evidence/` holds what was proven, and tests that run alone.
"""


@dataclass(frozen=True, kw_only=True)
class OperatorPackage:
    """A package before it is written."""

    files: dict[str, str]
    """Path to text."""
    operators: tuple[str, ...]
    """Names under which they are imported, `package.problem`."""


def operator_package(winners: Sequence[Winner], package: str, modules: dict[str, str]) -> OperatorPackage:
    """The files of a package; `modules` are those of `kernelwright_op`, file name to text.

    Raises `UserError` for a name that cannot be imported and for two problems of one name, `ConflictError` for a kernel
    that wins at no shape."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", package) or keyword.iskeyword(package):
        raise UserError(f"{package!r} cannot be imported: name the package in lower case, such as my_kernels")
    problems = _by_problem(winners)
    root = f"src/{package}"
    files = {f"{root}/kernelwright_op/{name}": text for name, text in modules.items()}
    files[f"{root}/{RUNTIME_MODULE}.py"] = winners[0].runtime
    names = ", ".join(f'"{name}"' for name in problems)
    files[f"{root}/__init__.py"] = _INIT.format(problems=", ".join(problems), names=names)
    for name, kernels in problems.items():
        files |= _problem_files(package, f"{root}/{name}", name, kernels)
    for winner in winners:
        files |= {f"evidence/{winner.job.id}/{name}": text for name, text in evidence_files(winner).items()}
    triton = any(winner.candidate.backend == "triton" for winner in winners)
    files["pyproject.toml"] = PYPROJECT.format(
        distribution=package.replace("_", "-"),
        description=json.dumps(_DESCRIPTION),
        dependencies=", ".join([json.dumps(_torch(winners)), *(['"triton"'] if triton else [])]),
    )
    files["README.md"] = _readme(package, problems)
    return OperatorPackage(files=files, operators=tuple(f"{package}.{name}" for name in problems))


def _by_problem(winners: Sequence[Winner]) -> dict[str, list[Winner]]:
    """Kernels of one problem together, the fastest against its best baseline first."""
    found: dict[str, list[Winner]] = {}
    for winner in winners:
        same = found.setdefault(winner.name, [])
        if same and same[0].job.spec.problem.source != winner.job.spec.problem.source:
            raise UserError(
                f"jobs {same[0].job.id} and {winner.job.id} have different problems of the name {winner.name}: "
                "export them into two packages"
            )
        same.append(winner)
    reserved = {"kernelwright_op", RUNTIME_MODULE} & set(found) | {name for name in found if keyword.iskeyword(name)}
    if reserved:
        raise UserError(f"a problem cannot have the name {min(reserved)} in a package: rename its file")
    for kernels in found.values():
        kernels.sort(key=lambda one: one.report.speedup.best_baseline or 0.0, reverse=True)
    return found


def _problem_files(package: str, folder: str, name: str, winners: Sequence[Winner]) -> dict[str, str]:
    files = {f"{folder}/original.py": winners[0].job.spec.problem.source}
    entries = ""
    for number, winner in enumerate(winners):
        module = f"kernel_{number}"
        files[f"{folder}/{module}.py"] = winner.source
        entries += _KERNEL.format(
            module=module,
            device="cuda" if winner.on_gpu else "cpu",
            sets=proven_sets(winner),
            backward=winner.report.passes is not None,
            processor=winner.report.environment.device if winner.on_gpu else None,
        )
    title = f"`{name}`: the original, and {len(winners)} proven kernel{'s' * (len(winners) != 1)}."
    files[f"{folder}/__init__.py"] = _PROBLEM.format(title=title, package=package, problem=name, kernels=entries)
    return files


def proven_sets(winner: Winner) -> tuple[str, ...]:
    """Input sets for which the kernel runs: those that it was timed on and is not surely slower on, and the held-out
    ones where it passed them. Raises `ConflictError` where there are none that were timed."""
    report = winner.report
    timed = [gain_of(one.speedup) for one in report.shapes] or [gain_of(report.speedup)]
    names = ["get_inputs", *(f"INPUT_SETS[{index}]" for index in range(len(timed) - 1))]
    found = [name for name, gain in zip(names, timed, strict=True) if gain in {Gain.SURELY, Gain.WITHIN_NOISE}]
    if not found:
        raise ConflictError(
            f"the kernel of job {winner.job.id} is slower than the best baseline at every shape, so that an operator "
            "would never run it: run more rounds first"
        )
    gate = report.gate(GateName.GENERALIZATION)
    return (*found, *(["HELD_OUT"] if gate is not None and gate.status is GateStatus.PASSED else []))


def _torch(winners: Sequence[Winner]) -> str:
    """The oldest release that the package may run with: the newest that a kernel was judged with."""
    judged = [re.match(r"(\d+)\.(\d+)", winner.report.environment.torch or "") for winner in winners]
    versions = [(int(found[1]), int(found[2])) for found in judged if found]
    return f"torch>={max(versions)[0]}.{max(versions)[1]}" if versions else "torch"


def _readme(package: str, problems: dict[str, list[Winner]]) -> str:
    rows = [f"- `{package}.{name}`: {figures(winner)}" for name, kernels in problems.items() for winner in kernels]
    return _README.format(package=package, first=next(iter(problems)), rows="\n".join(rows))
