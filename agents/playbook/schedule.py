"""How a kernel's loops are laid out: the state that optimisation moves change, one by one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace

from services.domain.chat import MoveFact

Scalar = bool | int | float | str


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """The plain draft is the default: one loop nest per operator, scalar, on one thread."""

    fuse: bool = False
    """One kernel per reduction pattern instead of one per operator."""
    threads: int = 1
    """OpenMP threads; 0 takes every core the process may use."""
    lanes: int = 0
    """Elements handled together with independent accumulators; 0 is scalar code with the C library's functions."""
    chunk: int = 64
    """Vectors summed in the element type before they go into the double total."""
    keep: bool = False
    """Expensive values of a row are kept in a buffer between passes instead of being computed again."""
    stream: bool = False
    """Outputs are written past the cache."""
    tile: int = 16384
    """Elements of the innermost dimension that one parallel piece of pointwise work takes."""
    columns: int = 256
    """Neighbouring columns reduced together where the reduced dimension is not the last."""
    interleave: int = 1
    """Rows whose running sums advance together."""
    prefetch: int = 0
    """How many elements ahead to prefetch; 0 leaves it to the hardware."""
    wide: bool = False
    """Prefer 512-bit vectors where the processor has them."""

    def apply(self, moves: Iterable[MoveFact]) -> Schedule:
        """The schedule after some moves; parameters that are no field are ignored."""
        known = {field.name: type(getattr(self, field.name)) for field in fields(self)}
        result = self
        for move in moves:
            changes = {name: value for name, value in move.parameters if type(value) is known.get(name)}
            result = replace(result, **changes)  # type: ignore[arg-type]
        return result

    def changes(self) -> tuple[tuple[str, Scalar], ...]:
        """Fields that differ from the plain draft."""
        plain = asdict(Schedule())
        return tuple((name, value) for name, value in asdict(self).items() if value != plain[name])

    def header(self) -> str:
        """One line for the candidate's docstring, which `read` understands."""
        return "schedule: " + (" ".join(f"{name}={int(value)}" for name, value in self.changes()) or "plain")


def read(source: str | None) -> Schedule | None:
    """The schedule that a candidate of ours was made with; None for somebody else's source."""
    found = re.search(r"^schedule: (.*)$", source or "", re.MULTILINE)
    if found is None:
        return None
    kinds = {field.name: type(getattr(Schedule(), field.name)) for field in fields(Schedule)}
    values: dict[str, Scalar] = {}
    for item in found.group(1).split():
        name, _, value = item.partition("=")
        if name in kinds and value.isdigit():
            values[name] = kinds[name](int(value))
    return replace(Schedule(), **values)  # type: ignore[arg-type]
