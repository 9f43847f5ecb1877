"""Which referee accepted a result, and whether that still counts as proof.

What an older referee accepted may be a cheat that today's would find. Until `kernelwright reverify` has accepted it
again it is neither recalled, nor shared, nor exported. Nor is a self-attested one, ever."""

from __future__ import annotations

REFEREE_VERSION = "16"
"""A whole number. Raised whenever the gates become stricter: what older referees accepted is no longer proven."""
CURRENT = int(REFEREE_VERSION)
SELF_ATTESTED = 0
"""In a referee's place where a result rests on the problem's own word."""


def referee_number(version: str | None) -> int | None:
    """A report's `referee_version` as a number; None where it is none."""
    return int(version) if version and version.isdecimal() and len(version) < 10 else None


def is_proof(referee: int | None) -> bool:
    """Whether a result that this referee accepted counts as proven today; one that is not known counts as older."""
    return referee is not None and referee >= CURRENT
