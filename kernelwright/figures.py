"""Figures as people read them."""

from __future__ import annotations

from services.domain.measurements import Gain
from services.domain.texts import microseconds as microseconds

GAINS: dict[str, str] = {
    Gain.SURELY: "[green]faster[/]",
    Gain.WITHIN_NOISE: "[yellow]within noise[/]",
    Gain.NONE: "slower",
}
"""A gain in a terminal. Green is for what is surely faster, here as in the web UI."""


def ratio(value: float | None) -> str:
    """A speedup: `2.31×`; a dash for none."""
    return "–" if value is None else f"{value:.2f}×"


def interval(bounds: tuple[float, float] | None) -> str:
    """A confidence interval of a speedup, or nothing."""
    return "" if bounds is None else f"[{_bound(bounds[0])}, {_bound(bounds[1])}]"


def _bound(value: float) -> str:
    """With as many digits as it takes to see on which side of 1 it lies."""
    digits = next((count for count in (2, 3, 4) if float(f"{value:.{count}f}") != 1.0), 2)
    return f"{value:.{digits}f}"
