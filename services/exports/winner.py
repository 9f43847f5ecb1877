"""A job's best candidate with everything an export says about it."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from services.domain.candidates import Candidate, EvaluatedCandidate
from services.domain.errors import ConflictError
from services.domain.evaluations import EvaluationReport
from services.domain.jobs import LOCAL_TEAM, Job
from services.domain.python_source import parsed
from services.domain.tunables import with_values

GPU_BACKENDS = frozenset({"cuda", "triton"})
RUNTIME_MODULE = "kernelwright_rt"


@dataclass(frozen=True, kw_only=True)
class Winner:
    """What the exports are made of."""

    job: Job
    candidate: Candidate
    report: EvaluationReport
    source: str
    """The kernel's module with the winners of a search over `TUNABLES` baked in."""
    lineage: tuple[EvaluatedCandidate, ...]
    """The candidate's ancestors and itself, the first draft first."""
    runtime: str
    """Source of the runtime module."""

    @property
    def name(self) -> str:
        """The problem's name as a Python identifier in lower case."""
        return identifier(self.job.spec.problem.name)

    @property
    def uses_runtime(self) -> bool:
        """Whether the kernel imports the runtime module."""
        return imports(self.source, RUNTIME_MODULE)

    @property
    def on_gpu(self) -> bool:
        """Whether the kernel runs on a GPU."""
        return self.candidate.backend in GPU_BACKENDS


def check_proven(best: EvaluatedCandidate) -> None:
    """Raise `ConflictError` for a kernel that only an older referee accepted, and for a self-attested one."""
    owner, attested = best.candidate, best.report.self_attested if best.report else None
    if attested:
        raise ConflictError(
            f"the kernel of job {owner.job_id} is self-attested: {attested}. "
            "Remove or tighten TOLERANCE, and submit the problem again"
        )
    if best.is_unproven:
        team = "" if owner.team_id == LOCAL_TEAM else f" --team {owner.team_id}"
        raise ConflictError(
            f"the kernel of job {owner.job_id} was accepted by an older referee only: "
            f"run `kernelwright reverify {owner.job_id}{team}` first"
        )


def exported_source(best: EvaluatedCandidate) -> str:
    """The candidate's source, with the winners of a search over its `TUNABLES` baked in."""
    tuned = best.report.tuned if best.report else None
    if tuned is None or not tuned.parameters:
        return best.candidate.source
    return with_values(best.candidate.source, tuned.parameters)


def lineage(best: Candidate, known: dict[str, EvaluatedCandidate]) -> tuple[EvaluatedCandidate, ...]:
    """A candidate's ancestors and itself, oldest first; ends where a parent is not known."""
    chain: list[EvaluatedCandidate] = []
    entry = known.get(best.id)
    while entry is not None and entry not in chain:
        chain.append(entry)
        entry = known.get(entry.candidate.parent_id or "")
    return tuple(reversed(chain))


def identifier(name: str) -> str:
    """A name as an identifier: `Fused bias+GELU` becomes `fused_bias_gelu`."""
    word = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    return word if word and not word[0].isdigit() else f"kernel_{word}".rstrip("_")


def imports(source: str, module: str) -> bool:
    """Whether a source imports a module anywhere. False for what does not parse."""
    try:
        tree = parsed(source)
    except SyntaxError:
        return False
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and any(alias.name == module for alias in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module == module:
            return True
    return False
