"""What a check found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What one check found."""

    name: str
    state: str
    """`ok`, `warning` (works, but less well) or `missing` (needed)."""
    detail: str
    remedy: str | None = None
    used: bool = True
    """False for what this configuration does without."""


def ok(name: str, detail: str, *, used: bool = True) -> Finding:
    """What is there; or, where `used` is False, what is not asked for."""
    return Finding(name=name, state="ok", detail=detail, used=used)


def warning(name: str, detail: str, remedy: str | None = None) -> Finding:
    """What works, but less well."""
    return Finding(name=name, state="warning", detail=detail, remedy=remedy)


def missing(name: str, detail: str, remedy: str | None = None) -> Finding:
    """What is needed and not there."""
    return Finding(name=name, state="missing", detail=detail, remedy=remedy)
