"""Errors of parts of an output: rows, columns, blocks of neighbours, and elements of like magnitude.

Faint parts do not count in the error of the whole; here each is measured against itself.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import torch

LEAST_LINE = 32
"""Elements from which on a row or column has a bound of its own."""
BLOCK = 64
"""Neighbouring elements of a row that have a bound of their own together."""
BANDS = 24
"""Powers of four of magnitude, from the largest element on, in which elements are judged together."""
LEAST_BAND = 32
"""Elements from which on a band is judged."""
FAINT_LINE = 1e-3
"""Rows weaker than this share of the usual one are measured against that share, and then by themselves."""
NO_LINE, OF_ROUNDINGS = 1e-6, 0.05
"""Lines weaker than this share of the usual one are what roundings leave of terms that cancel each other, in the
reference and in a kernel: they are measured against the other one."""
LEAST_NORM = 1e-30
"""Lines weaker than this are nothing: what is in them may have been flushed to zero."""
MOST_COMPARED = 1 << 20
"""Elements of which rows and columns are looked at: a stretch of leading slices chosen at random."""
MOST_BANDED = 1 << 17
"""The same for judging by magnitude, which takes longer."""
_NOTHING = torch.zeros(1), torch.ones(1)
"""Norms where there is nothing to judge."""


def real_pairs(tensor: torch.Tensor) -> torch.Tensor:
    """Complex numbers as real parts followed by imaginary ones, as if these were rows of their own."""
    return torch.view_as_real(tensor.resolve_conj()).movedim(-1, 0).contiguous() if tensor.is_complex() else tensor


def lines(actual: torch.Tensor, expected: torch.Tensor) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Norms of the differences and of the expected values, for rows (of the last dimension), columns and blocks.

    Of large outputs a stretch of the leading dimension, chosen at random, is looked at."""
    if expected.dim() < 1 or not expected.is_floating_point():
        return [_NOTHING] * 3
    apart, wanted = _stretch(actual, expected)
    if expected.dim() < 2:
        return [_NOTHING, _NOTHING, _blocks(apart, wanted)]
    rows = (_row_norms(apart), _row_norms(wanted)) if wanted.shape[1] >= LEAST_LINE else _NOTHING
    columns = (_column_norms(apart), _column_norms(wanted)) if wanted.shape[0] >= LEAST_LINE else _NOTHING
    return [rows, columns, _blocks(apart, wanted)]


def _row_norms(matrix: torch.Tensor) -> torch.Tensor:
    norms: torch.Tensor = torch.linalg.vector_norm(matrix, dim=1)
    return norms


def _column_norms(matrix: torch.Tensor) -> torch.Tensor:
    """The norms of columns. (`vector_norm` along the first dimension says the same, three times as slowly.)"""
    return matrix.square().sum(dim=0).sqrt_()


def _stretch(
    actual: torch.Tensor, expected: torch.Tensor, most: int = MOST_COMPARED
) -> tuple[torch.Tensor, torch.Tensor]:
    """Differences and expected values of a stretch of the leading dimension, as rows, without what is not finite."""
    slices = max(1, min(expected.shape[0], most * expected.shape[0] // max(1, expected.numel())))
    start = random.randrange(expected.shape[0] - slices + 1) if slices < expected.shape[0] else 0  # noqa: S311
    last = expected.shape[-1] if expected.dim() > 1 else slices
    wanted = expected.narrow(0, start, slices).float().reshape(-1, last)
    apart = actual.narrow(0, start, slices).float().reshape(wanted.shape) - wanted
    return apart.nan_to_num_(0.0, 0.0, 0.0), wanted.nan_to_num(0.0, 0.0, 0.0)


def _blocks(apart: torch.Tensor, wanted: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The norms of blocks of neighbours within rows; they begin at a random place."""
    count = wanted.shape[1] // BLOCK
    if count < 2 or wanted.shape[0] == 0:
        return _NOTHING
    start = random.randrange(wanted.shape[1] - count * BLOCK + 1)  # noqa: S311 - no secret, but hard to foresee
    parts = (one.narrow(1, start, count * BLOCK).reshape(-1, BLOCK) for one in (apart, wanted))
    errors, norms = (_row_norms(part) for part in parts)
    return errors, norms


def worst_band(actual: torch.Tensor, expected: torch.Tensor, relative: float, faint: float) -> tuple[float, float]:
    """Elements of like magnitude, judged together: the band whose error is most beyond what it is allowed, `relative`
    of its own magnitude and `faint` of the whole's. How many times as much, and the band's magnitude; 0 where there are
    too few elements for a band."""
    if expected.numel() < LEAST_BAND:
        return 0.0, 0.0
    apart, wanted = (one.flatten() for one in _stretch(actual, expected, MOST_BANDED))
    magnitude = wanted.abs()
    largest = float(magnitude.max())
    if largest <= 0.0:
        return 0.0, 0.0
    band = (torch.log2(magnitude / largest) * -0.5).clamp_(0, BANDS - 1).long()
    sums = torch.zeros(3, BANDS)
    for row, values in zip(sums, (torch.ones_like(wanted), apart.square(), wanted.square()), strict=True):
        row.copy_(torch.bincount(band, weights=values, minlength=BANDS))
    counts, errors, squares = sums
    error, own = (errors / counts.clamp_min(1)).sqrt(), (squares / counts.clamp_min(1)).sqrt()
    usual = float((squares.sum() / counts.sum()).sqrt())
    over = torch.where(counts >= LEAST_BAND, error / (relative * own + faint * usual), 0.0)
    worst = int(over.argmax())
    return float(over[worst]), float(own[worst])


def worst_line(errors: torch.Tensor, norms: torch.Tensor) -> tuple[float, int]:
    """The largest relative error of a line, and which line has it."""
    usual = float(torch.linalg.vector_norm(norms)) / max(1, norms.numel()) ** 0.5
    floor = torch.where(norms < NO_LINE * usual, OF_ROUNDINGS * usual, FAINT_LINE * usual).clamp_min(LEAST_NORM)
    relative = errors / norms.maximum(floor)
    worst = int(relative.argmax())
    return float(relative[worst]), worst


def worst_faint_line(errors: torch.Tensor, norms: torch.Tensor, least: float = LEAST_NORM) -> tuple[float, int]:
    """The largest error of a faint line relative to its own norm, and which line has it; 0 where none is faint. Lines
    of less than `least` are ignored; with 0, what should be nothing and is not is far off."""
    usual = float(torch.linalg.vector_norm(norms)) / max(1, norms.numel()) ** 0.5
    is_faint = (norms < FAINT_LINE * usual) & (norms >= least)
    relative = torch.where(is_faint, errors / norms.clamp_min(LEAST_NORM), 0.0)
    worst = int(relative.argmax())
    return float(relative[worst]), worst


def worst_slot(actual: torch.Tensor, expected: torch.Tensor, usual: Sequence[float]) -> tuple[float, int]:
    """The largest error of an element over its usual magnitude, and which one has it; 0 where none is known."""
    if len(usual) != expected.numel():
        return 0.0, 0
    known = torch.tensor(usual, dtype=torch.float64)
    apart = (actual.double() - expected.double()).reshape(-1).abs().cpu().nan_to_num(0.0, 0.0, 0.0)
    relative = torch.where(known > LEAST_NORM, apart / known.clamp_min(LEAST_NORM), 0.0)
    worst = int(relative.argmax())
    return float(relative[worst]), worst
