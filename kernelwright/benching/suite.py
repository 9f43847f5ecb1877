"""The port of a set of problems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from services.domain.candidates import content_hash
from services.domain.problems import Problem


@dataclass(frozen=True, kw_only=True)
class SuiteProblem:
    """One problem of a suite."""

    number: int
    """What `--problems` calls it."""
    key: str
    """Name of its row: the same on every call, and fit for a file."""
    problem: Problem

    @property
    def source_hash(self) -> str:
        """Content hash of the problem's text."""
        return content_hash(self.problem.source)


class Suite(Protocol):
    """A published set of problems on this machine, or the user's own files."""

    @property
    def name(self) -> str:
        """What `--suite` calls it."""

    @property
    def level(self) -> int | None:
        """Which part of it; None where it has no parts."""

    def problems(self) -> tuple[SuiteProblem, ...]:
        """All of them, by number. Raises `UserError` where there are none or one cannot be read."""
