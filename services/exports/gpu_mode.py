"""One file for a GPU MODE leaderboard: `custom_kernel(data)`, with the runtime module inside where it is used."""

from __future__ import annotations

import ast

from services.domain.errors import ConflictError
from services.domain.python_source import parsed
from services.exports.proven_calls import delivered
from services.exports.winner import RUNTIME_MODULE, Winner

FILE = "submission.py"

_RUNTIME = """import sys as _sys
import types as _types

_runtime = _types.ModuleType("{module}")
_sys.modules["{module}"] = _runtime
exec(compile({source!r}, "{module}.py", "exec"), _runtime.__dict__)
"""

_CALL = '''

_MODEL = None


def custom_kernel(data):
    """The leaderboard's entry point: the inputs as a tuple, the output as the reference gives it."""
    global _MODEL
    if _MODEL is None:
        _MODEL = ModelNew({arguments})
    return _MODEL(*data) if isinstance(data, (tuple, list)) else _MODEL(data)
'''


def submission(winner: Winner) -> dict[str, str]:
    """`submission.py`. Raises `ConflictError` for a kernel with weights: a leaderboard task hands over inputs only."""
    analysis = winner.job.analysis
    if analysis is None or analysis.parameters:
        raise ConflictError(
            f"{winner.job.spec.problem.name} has parameters, and a GPU MODE task passes inputs only: "
            "write the weights as inputs of forward, or take another format"
        )
    future, body = _split_future(delivered(winner))
    arguments = ", ".join(repr(value) for value in analysis.init_inputs)
    runtime = _RUNTIME.format(module=RUNTIME_MODULE, source=winner.runtime) if winner.uses_runtime else ""
    head = f"#!POPCORN leaderboard {winner.name}\n#!POPCORN gpu {winner.job.spec.device.upper()}\n"
    return {FILE: head + future + runtime + body.rstrip("\n") + _CALL.format(arguments=arguments)}


def _split_future(source: str) -> tuple[str, str]:
    """The `from __future__` lines, which must come first in a file, and the rest."""
    lines = source.splitlines(keepends=True)
    taken = {
        number
        for node in parsed(source).body
        if isinstance(node, ast.ImportFrom) and node.module == "__future__"
        for number in range(node.lineno - 1, node.end_lineno or node.lineno)
    }
    future = "".join(line for index, line in enumerate(lines) if index in taken)
    return future, "".join(line for index, line in enumerate(lines) if index not in taken)
