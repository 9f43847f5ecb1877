"""What one job shows: how soon it was right, how soon it gained, how far it came, what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from services.domain.candidates import Origin
from services.domain.steps import TrajectoryStep

NEAR = 1.05
"""A kernel within 5 % of the problem's best counts as the best: noise is some percent."""


@dataclass(frozen=True, kw_only=True)
class JobFigures:
    """The figures of one job; a round is a step that asked agents, was drafted, adopted or seeded."""

    arm: str
    problem: str
    seed: int
    speedups: tuple[float | None, ...]
    """Of each round's candidate against the best baseline; None where none was accepted. Second measurements are left
    out."""
    tokens: int
    """Input and output of all calls, those without a step included."""
    evaluations: int

    @property
    def accepted_at_once(self) -> float:
        """1 where the first round's candidate was accepted, else 0."""
        return float(bool(self.speedups) and self.speedups[0] is not None)

    def rounds_to_gain(self, most: int) -> float:
        """Rounds until a candidate was faster than the best baseline; `most` + 1 where none was."""
        return float(next((n for n, one in enumerate(self.speedups, start=1) if (one or 0.0) > 1.0), most + 1))

    def best_after(self, rounds: int) -> float | None:
        """Best speedup of the first rounds; None where none was accepted."""
        return max((one for one in self.speedups[:rounds] if one is not None), default=None)

    def evaluations_to(self, best: float, most: int) -> float:
        """Rounds until a candidate was within 5 % of `best`; `most` + 1 where none was."""
        wanted = best / NEAR
        return float(next((n for n, one in enumerate(self.speedups, start=1) if (one or 0.0) >= wanted), most + 1))


def figures_of(arm: str, problem: str, seed: int, steps: Sequence[TrajectoryStep], lost_tokens: int) -> JobFigures:
    """A job's figures; `lost_tokens` are those of calls that no step has."""
    judged = [item for item in steps if item.candidate is None or item.candidate.origin is not Origin.CONFIRMATION]
    return JobFigures(
        arm=arm,
        problem=problem,
        seed=seed,
        speedups=tuple(_speedup(item) for item in judged),
        tokens=lost_tokens + sum(item.step.usage.tokens for item in steps),
        evaluations=sum(item.report is not None for item in steps),
    )


def _speedup(item: TrajectoryStep) -> float | None:
    report = item.report
    return report.speedup.best_baseline if report is not None and report.accepted else None


def metrics(job: JobFigures, best: float | None, rounds: int) -> Mapping[str, float | None]:
    """The compared figures of one job; `best` is the highest speedup that any arm has for its problem."""
    return {
        "accepted at round 1": job.accepted_at_once,
        "rounds to above 1.0×": job.rounds_to_gain(rounds),
        "best speedup after 3 rounds": job.best_after(3),
        "best speedup after 6 rounds": job.best_after(6),
        "tokens": float(job.tokens),
        "evaluations to within 5 % of the best": None if best is None else job.evaluations_to(best, rounds),
    }


LOGARITHMIC = frozenset({"best speedup after 3 rounds", "best speedup after 6 rounds", "tokens"})
"""Compared by their ratio."""

__all__ = ["LOGARITHMIC", "JobFigures", "figures_of", "metrics"]
