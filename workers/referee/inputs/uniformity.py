"""Could any place of a tensor hold any of its values?

Structures (a triangle, sorted or normalised rows, one code of a kind in each row) are what kernels may rely on."""

from __future__ import annotations

from collections.abc import Iterator

import torch

LOOKED_AT = 512
"""Rows, and columns, that are looked at for a structure."""
LEAST_ROWS = 16
EVEN = (0.4, 2.5)
"""Variance of rows' sums over what independent elements would have."""
NEIGHBOURS = 0.1
"""Correlation of neighbouring elements from which on they belong together, ..."""
CHANCE = 6.0
"""... where it is beyond so many standard deviations of what independent ones have (a chance of 2e-9)."""
ALIKE = 1e-12
"""Variance of squares (of mean 1) below which they are all the same, as those of a mask are that is half set: rows of
such have the same sum however they were drawn."""


def is_even(tensor: torch.Tensor) -> bool:
    """Whether a tensor's elements look independent, as far as one draw shows."""
    return all(map(_has_even_rows, _matrices(tensor)))


def _matrices(tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    """A tensor's elements as rows of what might belong together: whole lines along each dimension (normalised ones
    have equal sums), all of it behind the first, and what shares a place in a dimension (scaled or ordered by it)."""
    for dim in range(tensor.dim()):
        if tensor.shape[dim] == 1:
            continue
        turned = tensor.movedim(dim, -1)
        lines = turned.numel() // turned.shape[-1]
        along = turned[:: max(1, min(turned.shape[0], lines // LOOKED_AT))].reshape(-1, tensor.shape[dim])
        yield _some_rows(along)
        across = along.T
        yield across[:LOOKED_AT, :: max(1, across.shape[1] // LOOKED_AT)].double()
    if tensor.dim() > 2:
        yield _some_rows(tensor.reshape(tensor.shape[0], -1))


def _some_rows(matrix: torch.Tensor) -> torch.Tensor:
    count = min(LOOKED_AT, max(LEAST_ROWS, (1 << 20) // matrix.shape[1]))
    return matrix[:: max(1, matrix.shape[0] // count)][:count].double()


def _has_even_rows(matrix: torch.Tensor) -> bool:
    """Whether rows look like independent elements of one distribution: neither alike nor apart, nor in an order."""
    rows, columns = matrix.shape
    mean, spread = matrix.mean(), matrix.std()
    scaled = (matrix - mean) / spread
    if rows > 2 and float((scaled[1:] * scaled[:-1]).mean().abs()) > max(NEIGHBOURS, CHANCE / matrix.numel() ** 0.5):
        return False
    if rows == columns and torch.equal(matrix, matrix.T):
        return False
    if rows < LEAST_ROWS or columns < 2:
        return True
    for power in (scaled, scaled.square()):
        variance = float(power.var())
        if variance < ALIKE:
            continue
        expected = variance / columns
        seen = float(power.mean(dim=1).var())
        slack = 6.0 / rows**0.5
        if not EVEN[0] / (1 + slack) <= seen / expected <= EVEN[1] * (1 + slack):
            return False
    return True
