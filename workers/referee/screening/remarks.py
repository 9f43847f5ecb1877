"""What a rule has to say of a candidate."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Remark:
    """One rule that a candidate's source breaks."""

    line: int
    """From 1, in the module; 0 for what stands in no line of it."""
    text: str
    hard: bool
    """Evidence (rejects) rather than a hint (makes suspicious)."""

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}" if self.line else self.text
