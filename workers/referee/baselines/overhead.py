"""What a reference takes, compared with what its operators take."""

from __future__ import annotations

from dataclasses import dataclass

SLOW = 2.0
"""How many times as long as its operators a reference takes from which on it is slow."""
LEAST_S = 200e-6
"""Beyond that: what a module's own Python costs, and a call between processes."""


@dataclass(frozen=True, kw_only=True)
class ReferenceCost:
    """What a call of a baseline takes, and what its operators take."""

    baseline_s: float
    operators_s: float

    @property
    def is_slow(self) -> bool:
        """Whether the reference does something else for most of its time."""
        return self.baseline_s > SLOW * self.operators_s + LEAST_S

    def __str__(self) -> str:
        """As a report says it."""
        return (
            f"reference is slow: a call takes {1e6 * self.baseline_s:.0f} µs, its operators alone "
            f"{1e6 * self.operators_s:.0f} µs; the speedup is over what it does besides. Remove waits, unused work "
            f"and conversions from forward"
        )

    def pooled(self, other: ReferenceCost) -> ReferenceCost:
        """The shorter of two measurements of each."""
        return ReferenceCost(
            baseline_s=min(self.baseline_s, other.baseline_s), operators_s=min(self.operators_s, other.operators_s)
        )
