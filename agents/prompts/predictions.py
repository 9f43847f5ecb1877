"""How good a Planner's predictions are: the gain it expected of a plan against the gain that was measured."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from services.domain.chat import AttemptFact
from services.domain.ratios import paired_time


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """One plan whose outcome could be measured against its start point."""

    step: int
    expected: float
    """Latency ratio, old over new, as planned."""
    measured: float
    """The same, as it came out; a refused candidate gained nothing and lost its start: it is not counted here."""

    @property
    def error(self) -> float:
        """|ln expected - ln measured|: 0.69 is a factor of two, either way."""
        return abs(math.log(self.expected) - math.log(self.measured))


def predictions(attempts: Iterable[AttemptFact]) -> tuple[Prediction, ...]:
    """Every plan for which start point and outcome were both timed, oldest first."""
    times: dict[str, float] = {}
    found = []
    for item in attempts:
        median = paired_time(item.report)
        before = times.get(item.parent_id or "")
        if median is not None and before is not None and item.plan is not None:
            found.append(Prediction(step=item.step, expected=item.plan.expected_gain, measured=before / median))
        if median is not None and item.candidate_id is not None:
            times[item.candidate_id] = median
    return tuple(found)


def mean_error(found: Iterable[Prediction]) -> float | None:
    """Mean error in natural logarithms; None without predictions."""
    errors = [item.error for item in found]
    return sum(errors) / len(errors) if errors else None


def describe(found: tuple[Prediction, ...], shown: int = 5) -> str:
    """The latest predictions and how far off all were, for the Planner; empty without any."""
    error = mean_error(found)
    if error is None:
        return ""
    latest = ", ".join(
        f"step {item.step}: {item.expected:.2f}× expected, {item.measured:.2f}× measured" for item in found[-shown:]
    )
    lean = sum(math.log(item.expected / item.measured) for item in found) / len(found)
    word = "too high" if lean > 0.05 else "too low" if lean < -0.05 else "neither too high nor too low"
    return f"{latest}. Off by {math.exp(error) - 1:.0%} on average, {word}."
