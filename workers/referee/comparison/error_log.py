"""How far an output is off, as figures: the element that used most of its allowance, and the bounds next to it.

Nothing here decides anything: `comparison` judges, and these figures say how close it was.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import overload

import torch

from services.domain.gates import ErrorCheck, GateName, OutputError, WorstElement

ELEMENTS = 1 << 26
"""Of a piece, elsewhere: intermediates in float64 must not need several times the memory of large tensors."""
CACHED = 30 << 10
"""Elements of a piece on a CPU: intermediate results stay in a cache, and torch takes one thread below 32 Ki, which
does not wait where the other cores are busy."""
LEAST_ALLOWED = 1e-37
"""Stands for an allowance of zero."""
BITS = {torch.float16: torch.int16, torch.bfloat16: torch.int16, torch.float32: torch.int32, torch.float64: torch.int64}
"""Integers as wide as the floating-point types whose representable numbers are counted."""


def pieces(*tensors: torch.Tensor, elements: int = ELEMENTS) -> Iterator[tuple[torch.Tensor, ...]]:
    """The same flat slices of tensors that have as many elements as one another; at least one, maybe an empty one."""
    flat = [tensor.reshape(-1) for tensor in tensors]
    for start in range(0, max(1, flat[0].numel()), elements):
        yield tuple(tensor[start : start + elements] for tensor in flat)


@dataclass(kw_only=True)
class Account:
    """What one comparison came to, check by check."""

    dtype: str
    max_abs: float | None = None
    """Largest absolute difference; None where it is not finite."""
    worst: WorstElement | None = None
    relative: float | None = None
    """Relative Frobenius error; None where zero was expected everywhere."""
    bound: float | None = None
    """What was allowed of it."""
    share: float | None = None
    """Largest share of an allowance that any check found used."""
    check: ErrorCheck | None = None
    """Which check that was."""

    def note(self, check: ErrorCheck, error: float, bound: float) -> None:
        """One check's error and what was allowed."""
        share = _ratio(error, bound)
        if self.share is None or share > self.share:
            self.share, self.check = share, check

    def whole(self, largest: float, error: float, bound: float) -> None:
        """The largest absolute difference and the error of all elements; `worst` is known."""
        assert self.worst is not None
        self.max_abs = largest if math.isfinite(largest) else self.worst.absolute  # 16 bits overflow in a difference
        self.relative, self.bound = (error if math.isfinite(error) else None), bound
        self.note(ErrorCheck.ELEMENT, self.worst.absolute, self.worst.allowed)
        self.note(ErrorCheck.WHOLE, error, bound)

    def exact(self) -> None:
        """All elements are equal."""
        self.max_abs, self.relative, self.share = 0.0, 0.0, 0.0

    def not_finite(self) -> None:
        """NaN or infinities are where they do not belong: no figure says how far that is off."""
        self.max_abs = self.worst = self.share = None
        self.check = ErrorCheck.FINITE


@dataclass(kw_only=True)
class ErrorLog:
    """The errors of one candidate, one entry for each gate, kind of draw and tensor: the worst of its comparisons."""

    gate: GateName | None = None
    """The gate that is examining; None between gates, when nothing is logged."""
    _entries: dict[tuple[GateName, str, str], OutputError] = field(default_factory=dict)

    def note(self, draw: str, accounts: Iterable[tuple[str, Account]]) -> None:
        """The accounts of one call, each under its tensor's name: `output`, `output 1`, `input 0`."""
        if self.gate is None:
            return
        for tensor, account in accounts:
            entry = _entry(self.gate, draw, tensor, account)
            key = (self.gate, draw, tensor)
            known = self._entries.get(key)
            if known is not None:
                worse = entry if _rank(entry) > _rank(known) else known
                entry = dataclasses.replace(worse, comparisons=known.comparisons + 1)
            self._entries[key] = entry

    def entries(self) -> tuple[OutputError, ...]:
        """All of them, the largest share of an allowance first."""
        return tuple(sorted(self._entries.values(), key=_rank, reverse=True))


def worst_element(
    actual: torch.Tensor, expected: torch.Tensor, difference: torch.Tensor, allowed: float, rtol: float
) -> WorstElement:
    """The element that used most of `allowed + rtol·|expected|`. All tensors are finite and of one shape, not empty."""
    size = ELEMENTS if difference.is_cuda else CACHED
    most, start = -1.0, 0
    for index, (apart, wanted) in enumerate(pieces(difference, expected, elements=size)):
        share = float(_shares(apart, wanted, allowed, rtol).amax())
        if share > most:
            most, start = share, index * size
    stretch = slice(start, start + size)
    shares = _shares(difference.reshape(-1)[stretch], expected.reshape(-1)[stretch], allowed, rtol)
    flat = start + int(shares.argmax())
    got, wanted = (tensor.reshape(-1)[flat : flat + 1] for tensor in (actual, expected))
    absolute, magnitude = abs(got.item() - wanted.item()), abs(wanted.item())
    own = allowed + rtol * magnitude
    return WorstElement(
        at=tuple(int(item) for item in torch.unravel_index(torch.tensor(flat), expected.shape)),
        absolute=absolute,
        relative=absolute / magnitude if magnitude else None,
        ulp=ulp_distance(got, wanted),
        allowed=own,
        share=_ratio(absolute, own),
    )


def ulp_distance(one: torch.Tensor, other: torch.Tensor) -> int | None:
    """How many representable numbers lie between two tensors' single elements, counting one of the two; None for
    types without units in the last place. Zero and its negative are one number."""
    kind = BITS.get(one.dtype)
    return None if kind is None else abs(_place(one, kind) - _place(other, kind))


def largest_step(actual: torch.Tensor, expected: torch.Tensor) -> float:
    """The largest difference of two tensors of whole numbers or booleans."""
    return float((actual.double() - expected.double()).abs().max())


def _shares(apart: torch.Tensor, wanted: torch.Tensor, allowed: float, rtol: float) -> torch.Tensor:
    apart, wanted = (_wide(tensor.abs()) for tensor in (apart, wanted))
    return apart.div_(wanted.mul_(rtol).add_(allowed).clamp_min_(LEAST_ALLOWED))


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    return tensor if tensor.dtype in (torch.float32, torch.float64) else tensor.float()


def _place(tensor: torch.Tensor, kind: torch.dtype) -> int:
    """The number's place among all of its type, 0 for zero."""
    bits = int(tensor.contiguous().view(kind).item())
    return bits if bits >= 0 else torch.iinfo(kind).min - bits


def _ratio(error: float, bound: float) -> float:
    """The share used; where nothing was allowed, any error is far beyond it, but still a number that JSON has."""
    if error == 0.0:
        return 0.0
    share = error / max(bound, LEAST_ALLOWED)
    return share if math.isfinite(share) else 1.0 / LEAST_ALLOWED


def _rank(entry: OutputError) -> float:
    return math.inf if entry.share is None else entry.share


def _entry(gate: GateName, draw: str, tensor: str, account: Account) -> OutputError:
    return OutputError(
        gate=gate,
        draw=draw,
        tensor=tensor,
        dtype=account.dtype,
        max_abs=_rounded(account.max_abs),
        worst=account.worst and _rounded_element(account.worst),
        relative=_rounded(account.relative),
        bound=_rounded(account.bound),
        share=_rounded(account.share),
        check=account.check,
    )


def _rounded_element(worst: WorstElement) -> WorstElement:
    return dataclasses.replace(
        worst,
        absolute=_rounded(worst.absolute),
        relative=_rounded(worst.relative),
        allowed=_rounded(worst.allowed),
        share=_rounded(worst.share),
    )


@overload
def _rounded(value: float) -> float: ...


@overload
def _rounded(value: None) -> None: ...


@overload
def _rounded(value: float | None) -> float | None: ...


def _rounded(value: float | None) -> float | None:
    """To four significant digits: a report has some forty of these entries."""
    return None if value is None else float(f"{value:.4g}")
