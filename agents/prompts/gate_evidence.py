"""The evidence of a failed gate, whole: a repair that sees half of a compiler's error guesses the other half."""

from __future__ import annotations

import re

from services.domain.evaluations import EvaluationReport
from services.domain.gates import GateName, GateStatus

_DIAGNOSTIC = re.compile(
    r"^(?:\S[^:\n]*(?::\d+)+:|\S[^(\n]*\(\d+\):) *(?P<kind>fatal error|error|warning|note)\b", re.MULTILINE
)
"""The first line of a message of g++, clang or nvcc: `file:12:5: error: …`, `file(12): error: …`."""


def failures(report: EvaluationReport) -> str:
    """What the gates that failed or doubted said, a gate a paragraph; a compiler's errors before its warnings."""
    said = [gate for gate in report.gates if gate.status in (GateStatus.FAILED, GateStatus.SUSPICIOUS)]
    return "\n".join(
        f"{gate.name.value}: {errors_first(gate.detail) if gate.name is GateName.COMPILE else gate.detail}"
        for gate in said
    )


def errors_first(messages: str) -> str:
    """A compiler's output with its errors first, each with the lines and notes that belong to it; nothing is left out.

    Output without such messages stays as it is."""
    blocks: list[tuple[bool, list[str]]] = []
    pending: list[str] = []  # "In function …" stands before the message that it belongs to
    for line in messages.splitlines():
        found = _DIAGNOSTIC.match(line)
        if found is None:
            heads = not blocks or re.match(r"^(In file included|\S.*: In |\s+from )", line)
            (pending if heads else blocks[-1][1]).append(line)
        elif found["kind"] == "note" and blocks:
            blocks[-1][1].extend([*pending, line])
            pending = []
        else:
            blocks.append(("error" in found["kind"], [*pending, line]))
            pending = []
    ordered = sorted(blocks, key=lambda block: not block[0])
    return "\n".join([line for _, lines in ordered for line in lines] + pending)
