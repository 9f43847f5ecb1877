"""Figures as people read them, wherever they read them."""

from __future__ import annotations


def percent(share: float) -> str:
    """A share with two significant figures, from 10 % on without decimals: `0.47 %`, `8.4 %`, `84 %`, `160 %`."""
    value = 100 * share
    if not 0 < abs(value) < 9.95:
        return f"{value:.0f} %"
    return f"{float(f'{value:.2g}'):.10f}".rstrip("0").rstrip(".") + " %"


def microseconds(value: float) -> str:
    """A duration with a fitting unit: `532 µs`, `12.3 ms`."""
    if value < 1000:
        return f"{value:.3g} µs"
    return f"{value / 1000:.3g} ms" if value < 1e6 else f"{value / 1e6:.3g} s"
