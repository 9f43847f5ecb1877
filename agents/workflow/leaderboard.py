"""Which accepted candidate leads, and whose lead rests on one measurement only.

The fastest of many noisy measurements is faster than its kernel: choosing the minimum chooses luck. So the leaders are
measured again at the end of a job, and once some were, only those compete, with their second figures.
"""

from __future__ import annotations

from collections.abc import Sequence

from services.domain.chat import AttemptFact
from services.domain.evaluations import EvaluationReport
from services.domain.jobs import DEFAULT_STRATEGY, JobSpec
from services.domain.measurements import Gain, gain_of
from services.domain.ratios import paired_time

ROUNDS_EACH = 4
"""Rounds of a budget for each confirmation: a job of less than four rounds has none."""

NEARLY = 0.9
"""Of the leader's speedup: two measurements of one kernel may differ by that much."""


def leader(attempts: Sequence[AttemptFact]) -> AttemptFact | None:
    """The fastest accepted attempt, see `paired_time`; among confirmations alone once there are any."""
    accepted = _accepted(attempts)
    confirmed = [item for item in accepted if item.confirms is not None]
    return min(confirmed or accepted, key=_figure, default=None)


def least_profiled_speedup(attempts: Sequence[AttemptFact], spec: JobSpec) -> float | None:
    """Speedup from which on a candidate leads, or nearly does: nobody asks for the profile of others. None where
    nothing was timed yet, or where a strategy starts from others, too."""
    if spec.strategy != DEFAULT_STRATEGY or spec.beam != 1:
        return None
    lead = leader(attempts)
    speedup = lead.report.speedup.best_baseline if lead is not None and lead.report is not None else None
    return None if speedup is None else NEARLY * speedup


def unconfirmed(attempts: Sequence[AttemptFact]) -> AttemptFact | None:
    """What to measure again next: the fastest attempt measured once, where it would lead; None where none would."""
    again = {item.confirms for item in attempts}
    sources = {item.source for item in attempts if item.confirms is not None}
    once = [
        item
        for item in _accepted(attempts)
        if item.confirms is None and item.candidate_id not in again and item.source not in sources
    ]
    first = min(once, key=_figure, default=None)
    lead = leader(attempts)
    if first is None or lead is None or _figure(first) > _figure(lead):
        return None
    return first


def kept_rounds(rounds: int, most: int) -> int:
    """Rounds of a budget that are kept for confirming at most so many leaders."""
    return min(most, rounds // ROUNDS_EACH)


def next_move(
    attempts: Sequence[AttemptFact], rounds: int, stop: str | None, most: int, free: int = 0
) -> tuple[AttemptFact | None, str | None]:
    """(the attempt to measure again, why the job is over); both None where the search goes on.

    `rounds` is the budget, `stop` why the strategy would end the search, `most` bounds the second measurements, `free`
    attempts are not charged to the budget.
    """
    search = searched(attempts)
    left, confirmed = rounds + free - len(attempts), len(attempts) - len(search)
    fallen = sum(item.confirms is not None and item.report is not None and item.report.collapses for item in attempts)
    kept = kept_rounds(rounds, most) - confirmed + fallen  # the next one is looked at instead
    if left <= 0:
        used = "the only round is used" if rounds == 1 else f"all {rounds} rounds are used"
        return None, stop if stop and confirmed else used
    if not confirmed and stop is None and (left > kept or leader(attempts) is None):
        return None, None  # before anything is accepted, the rounds kept are better spent on trying
    doubtful = unconfirmed(attempts) if kept > 0 else None
    if doubtful is not None:
        return doubtful, None
    return None, stop or f"the best kernel of {len(search)} rounds was measured again"


def searched(attempts: Sequence[AttemptFact]) -> tuple[AttemptFact, ...]:
    """The attempts before the first confirmation: what the search is over."""
    first = next((number for number, item in enumerate(attempts) if item.confirms is not None), len(attempts))
    return tuple(attempts[:first])


def _accepted(attempts: Sequence[AttemptFact]) -> list[AttemptFact]:
    """The accepted attempts, without kernels that a second evaluation did not accept."""
    refuted = {item.confirms for item in attempts if item.report is not None and paired_time(item.report) is None}
    return [item for item in attempts if paired_time(item.report) is not None and item.candidate_id not in refuted]


def _figure(attempt: AttemptFact) -> float:
    return paired_time(attempt.report) or 0.0


def without_gain(report: EvaluationReport) -> str | None:
    """Why a job with this winner has gained nothing; None where it is surely faster, or nothing was measured."""
    gain, speedup = gain_of(report.speedup), report.speedup
    if gain in (None, Gain.SURELY) or speedup.best_baseline is None or speedup.ci95 is None:
        return None
    figures = f"{speedup.best_baseline:.2f}× [{speedup.ci95[0]:.2f}, {speedup.ci95[1]:.2f}]"
    if report.objective is not None and report.objective.collapse is not None:
        return f"the best kernel collapses on held-out shapes: {report.objective.collapse}"
    how = "is slower than the fastest baseline" if gain is Gain.NONE else "is as fast as the fastest baseline, in noise"
    return f"the best kernel {how}: {figures}"
