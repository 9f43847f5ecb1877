"""What rows have in common: only such rows are counted together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime

from kernelwright.bench.rows import BenchRow
from services.domain.errors import ConflictError
from services.domain.jobs import AgentsMode, Budget
from services.domain.problems import Problem


@dataclass(frozen=True, kw_only=True)
class BenchTerms:
    """Which problems, where, and how they are searched."""

    suite: str
    level: int | None
    part: str | None = None
    """The folder of the checkout that was asked for."""
    device: str
    backend: str
    model: str
    strategy: str
    beam: int
    agents: AgentsMode
    verify_first: bool
    compiler_draft: bool | None
    """None where the server decides."""
    budget: Budget
    """Of each problem."""
    baselines: tuple[str, ...]
    referee_version: str | None
    """Of this machine; None where a server judges, whose version the rows tell."""
    objective: str = ""
    """Which figure counts over several input sets; empty for what each problem says."""

    def applied(self, problem: Problem) -> Problem:
        """The problem with the objective of these terms."""
        return replace(problem, objective=self.objective or problem.objective)


@dataclass(frozen=True, kw_only=True)
class KeptTerms:
    """What a results folder says about itself."""

    run: str
    """Drawn once; jobs are made under names that follow from it, so that none is made twice."""
    started_at: datetime
    terms: BenchTerms


def check_same_terms(kept: BenchTerms, wanted: BenchTerms, where: str) -> None:
    """Raise `ConflictError` where rows of two terms must not be counted together."""
    for field in fields(BenchTerms):
        before, now = getattr(kept, field.name), getattr(wanted, field.name)
        if before != now:
            raise ConflictError(
                f"{where} was made with {_named(field.name)} {_shown(before)}, not {_shown(now)}: "
                "ask for the same again, or name another folder"
            )


def check_same_machine(rows: Sequence[BenchRow], where: str) -> None:
    """Raise `ConflictError` where rows come from different devices or referees."""
    for what, name in (("device", "device"), ("hardware", "hardware"), ("referee", "referee_version")):
        seen: dict[str, str] = {}
        for row in rows:
            value = getattr(row, name)
            if value is not None:
                seen.setdefault(value, row.problem)
        if len(seen) > 1:
            one, other = list(seen.items())[:2]
            raise ConflictError(
                f"{where}: {what} {one[0]!r} ({one[1]}) and {what} {other[0]!r} ({other[1]}) must not be counted "
                "together: use a folder for each"
            )


def _named(field: str) -> str:
    return {"referee_version": "referee", "agents": "--agents", "budget": "the budget"}.get(
        field, f"--{field.replace('_', '-')}"
    )


def _shown(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, Budget):
        given = {field.name: getattr(value, field.name) for field in fields(Budget)}
        return ", ".join(f"{name} {limit:g}" for name, limit in given.items() if limit is not None)
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
