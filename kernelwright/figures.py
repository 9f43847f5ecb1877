"""Figures as people read them."""

from __future__ import annotations


def microseconds(value: float) -> str:
    """A duration with a fitting unit: `532 µs`, `12.3 ms`."""
    if value < 1000:
        return f"{value:.3g} µs"
    return f"{value / 1000:.3g} ms" if value < 1e6 else f"{value / 1e6:.3g} s"


def ratio(value: float | None) -> str:
    """A speedup: `2.31×`; a dash for none."""
    return "–" if value is None else f"{value:.2f}×"


def interval(bounds: tuple[float, float] | None) -> str:
    """A confidence interval of a speedup, or nothing."""
    return "" if bounds is None else f"[{bounds[0]:.2f}, {bounds[1]:.2f}]"
