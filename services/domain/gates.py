"""What a gate found: its result, and how far outputs were off. Field names are the report's JSON names."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class GateName(StrEnum):
    """The gates, cheapest first; their order here is the order they run in."""

    SCREEN = "screen"
    COMPILE = "compile"
    LOAD = "load"
    CORRECTNESS = "correctness"
    INTEGRITY = "integrity"
    GENERALIZATION = "generalization"
    TIMING = "timing"


class GateStatus(StrEnum):
    """What one gate said."""

    PASSED = "passed"
    FAILED = "failed"
    SUSPICIOUS = "suspicious"
    SKIPPED = "skipped"


@dataclass(frozen=True, kw_only=True)
class GateResult:
    """One gate's outcome with its evidence."""

    name: GateName
    """Which gate."""
    status: GateStatus
    """Its outcome; hard evidence fails, hints make suspicious."""
    detail: str
    """The evidence in words a kernel engineer can act on (compiler message, first mismatch, rule and line)."""
    seconds: float
    """Time the gate took."""


class ErrorCheck(StrEnum):
    """What an output's error is held against; every check has an allowance of its own."""

    ELEMENT = "element"
    """A single element, against its tolerance."""
    WHOLE = "whole"
    """The relative Frobenius error, against a multiple of the reference's own against float64."""
    ROW = "row"
    """The same for the worst row."""
    COLUMN = "column"
    """The same for the worst column."""
    BLOCK = "block"
    """The same for the worst block of neighbours within a row."""
    MAGNITUDE = "magnitude"
    """Elements of like magnitude together."""
    STEPS = "steps"
    """Whole numbers: the share of those that are one step off, against what a nudge of the inputs changes."""
    FINITE = "finite"
    """NaN and infinities are where they do not belong, or missing: no figure says how far that is off."""


@dataclass(frozen=True, kw_only=True)
class WorstElement:
    """The element that used the largest share of its tolerance."""

    at: tuple[int, ...]
    """Its index."""
    absolute: float
    """|output − expected|."""
    relative: float | None
    """The same over |expected|; null where zero was expected."""
    ulp: int | None
    """The same in units in the last place of the output's dtype: representable numbers between the two. Null for
    whole and complex numbers."""
    allowed: float
    """Its tolerance: atol (scaled to the output) + rtol·|expected|."""
    share: float
    """absolute over allowed; above 1 is wrong."""


@dataclass(frozen=True, kw_only=True)
class OutputError:
    """How far one tensor was off for one kind of draw, the worst of its comparisons in one gate."""

    gate: GateName
    """Which gate compared it."""
    draw: str
    """The kind of values: `own values`, `input set 1, mixed signs values`, `derived shapes 67×2048`."""
    tensor: str
    """`output`, `output 1`, or `input 0` where the reference changes it in place."""
    dtype: str
    max_abs: float | None
    """Largest absolute error of all elements; null where the comparison found something that is not finite."""
    worst: WorstElement | None
    """Null where all elements are equal, or not comparable one by one."""
    relative: float | None
    """Relative Frobenius error of the tensor; null where it was not looked at."""
    bound: float | None
    """The largest relative error allowed, from the reference's own against float64."""
    share: float | None
    """Largest share of an allowance that any check found used: 0 is exact, above 1 is wrong, null is not finite."""
    check: ErrorCheck | None
    """Which check that was; null where all elements are equal."""
    comparisons: int = 1
    """How many calls this is the worst of."""
