"""Hardware counters in a prompt: grouped, those that decide first, with units and short numbers.

What limits a kernel is read from a few of them; sorted by name, the stall that matters came last and was cut off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from services.domain.profiles import Profile

MOST = 32
"""Counters that a prompt shows."""
MOST_STALLS = 3
ALWAYS = ("waves",)
"""Shown whatever was selected, with the largest stall."""
_STALL = "stall_"


@dataclass(frozen=True, kw_only=True)
class CounterGroup:
    """Counters that are read together."""

    title: str
    units: Mapping[str, str]
    """Counter to unit, the most important one first."""


_GROUPS = (
    CounterGroup(title="time", units={"total_us": "µs", "kernels": "", "duration_us": "µs", "custom_share": "of 1"}),
    CounterGroup(
        title="throughput, % of peak",
        units={
            "dram_pct": "%",
            "memory_pct": "%",
            "compute_pct": "%",
            "l2_pct": "%",
            "l1_pct": "%",
            "issue_pct": "%",
            "dram_bytes": "bytes",
        },
    ),
    CounterGroup(
        title="launch and occupancy",
        units={
            "waves": "",
            "occupancy_pct": "%",
            "occupancy_limit_pct": "%",
            "registers": "a thread",
            "blocks": "",
            "threads": "a block",
            "limit_registers": "blocks an SM",
            "limit_shared": "blocks an SM",
            "limit_warps": "blocks an SM",
            "limit_blocks": "blocks an SM",
        },
    ),
    CounterGroup(title="instructions", units={"instructions": "", "local_loads": "", "local_stores": "", "cycles": ""}),
    CounterGroup(
        title="caches and branches",
        units={"cache-misses": "", "cache-references": "", "branch-misses": "", "branches": ""},
    ),
)
_KNOWN = frozenset(name for group in _GROUPS for name in group.units)


def describe(profile: Profile, selected: Sequence[str] = ()) -> list[str]:
    """A profile's counters, a group a line; of all of them, or those selected and what is always shown."""
    metrics = profile.metrics
    stalls = _stalls(metrics)
    wanted = {*selected, *ALWAYS, *stalls[:1]} if any(name in metrics for name in selected) else set(metrics)
    shown = {name: value for name, value in metrics.items() if name in wanted}
    lines = [line for group in _GROUPS if (line := _line(group, shown))]
    main = [f"{name.removeprefix(_STALL)} {_short(shown[name])}" for name in stalls if name in shown][:MOST_STALLS]
    if main:
        lines.append(f"stalls, warps an issue, largest first: {', '.join(main)}")
    others = sorted(name for name in shown if name not in _KNOWN and not name.startswith(_STALL))
    return [*lines, *(f"{name} = {_short(shown[name])}" for name in others[: MOST - len(lines)])]


def _line(group: CounterGroup, shown: Mapping[str, float]) -> str:
    parts = [f"{name} {_short(shown[name])} {unit}".rstrip() for name, unit in group.units.items() if name in shown]
    return f"{group.title}: {', '.join(parts)}" if parts else ""


def _stalls(metrics: Mapping[str, float]) -> list[str]:
    found = [name for name in metrics if name.startswith(_STALL)]
    return sorted(found, key=lambda name: (-metrics[name], name))


def _short(value: float) -> str:
    """Three significant digits, large numbers in thousands, millions, billions."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{value / (1e3 if letter == 'k' else size):.3g}{letter}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
