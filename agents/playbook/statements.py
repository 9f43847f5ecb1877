"""Pieces of C++ text that every kernel is put together from: sweeps, blocks, loops, stores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agents.playbook.accumulate import Accumulator
from agents.playbook.loops import Loop
from agents.playbook.sizes import Poly


@dataclass(kw_only=True)
class Sweep:
    """What one pass does, as statements."""

    row: list[str]
    """Before the loops."""
    lane: list[str]
    """Per lane before the loops (columns)."""
    inner: list[str]
    """For every element."""
    updates: list[tuple[Accumulator, str]] = field(default_factory=list)
    """Reductions with the element's value."""
    stores: list[tuple[str, Poly, str, str]] = field(default_factory=list)
    """(tensor, position, value, memory type) for every element."""
    row_stores: list[str] = field(default_factory=list)
    lane_stores: list[str] = field(default_factory=list)
    scans: list[tuple[Accumulator, bool]] = field(default_factory=list)
    """Scans with their direction."""

    @property
    def loops(self) -> bool:
        """Whether elements have to be visited at all."""
        return bool(self.updates or self.stores or self.scans)


def indent(lines: Sequence[str]) -> list[str]:
    """Lines moved four columns to the right."""
    return [f"    {line}" for line in lines]


def block(head: str, body: Sequence[str]) -> list[str]:
    """`head { body }`."""
    return [f"{head} {{", *indent(body), "}"]


def head(loop: Loop) -> str:
    """A plain loop."""
    return f"for (int64_t {loop.name} = 0; {loop.name} < {loop.extent.c()}; ++{loop.name})"


def store(name: str, position: Poly, value: str, kind: str) -> str:
    """An assignment to memory, rounding where memory is narrower."""
    if kind in {"kw_bf16", "kw_f16"}:
        return f"kw_store(&{name}[{position.c()}], {value});"
    return f"{name}[{position.c()}] = {value};"


def single(item: Accumulator, value: str) -> list[str]:
    """A reduction of exactly one element."""
    return [*item.declare("r"), item.update("r", "", value, "0")]
