"""Values whose rows have features of their own: flat and steep ones, liked columns, one high value, stripes, ridges."""

from __future__ import annotations

import math
import random

import torch

from workers.referee.inputs.transforms import lower_tail, upper_tail
from workers.referee.inputs.value_kinds import LEAST_SLICES, rows_of, sampled_values

PERIOD = 8
"""Rows before the features repeat: every other row likes some columns, and each of four others has another feature."""
LIKED = 1 / 16
"""Share of the columns that are larger in rows that like these."""
FONDNESS = 4.0
"""By how many standard deviations."""
FLATTENED = 1 / 16
"""Factor of the other values where one is high, or next to stripes."""
LOWEST, HIGHEST = 5.0, 16.0
"""Height of one value over the rest of its row, in standard deviations: next to it each other term of a softmax is
faint, and all of them together are not."""
LANES, MOST_LANES = 8, 32
"""Stripes are as many places apart as lanes of vectors are, times up to so many."""
NARROW = 4.0
"""A ridge is as wide as this has it: beyond a quarter of a matrix, nothing is left."""
OF_ITS_OWN = 1e-2
"""What is left of a ridge's own values."""
LEAST_RIDGE = 16
"""Rows and columns of a matrix from which on it may be a ridge."""
STEP, RISE = 5, 19
"""By what power of two, and in how many places, products along a row rise; then they fall by twice as much, rise to the
same height again, and come back to what they were. Parts as long as a vector has lanes stay in the range of floats."""
CLOSE_TO_END = 0.01
"""Distance from an end of the numbers from zero to one, where they all come close to one."""
OF_UNIT = 1 / 64
"""Distance of a draw's ends from zero and one up to which it is one of such numbers."""


def is_of_unit(tensor: torch.Tensor) -> bool:
    """Whether numbers are drawn from zero to one: probabilities, gates."""
    if tensor.is_complex():
        return False
    low, high = (float(end) for end in sampled_values(tensor).aminmax())
    return 0 <= low <= OF_UNIT and 1 - OF_UNIT <= high <= 1


def upper_end(tensor: torch.Tensor) -> torch.Tensor:
    """Numbers from zero to one close to one; others several standard deviations above their mean."""
    return 1 - (1 - tensor) * CLOSE_TO_END if is_of_unit(tensor) else upper_tail(tensor)


def lower_end(tensor: torch.Tensor) -> torch.Tensor:
    """Numbers from zero to one close to zero; others several standard deviations below their mean, nothing below zero
    where nothing was."""
    if is_of_unit(tensor) or not bool((tensor < 0).any()):
        return tensor * CLOSE_TO_END
    return lower_tail(tensor)


def up_and_down(tensor: torch.Tensor) -> torch.Tensor:
    """Stretches of large factors and of small ones, in the same places of all rows: as many as there is room for."""
    rows = rows_of(tensor).clone()
    step = STEP if torch.finfo(tensor.dtype).max > 2.0 ** (STEP * RISE) else 1
    powers = torch.tensor([1, -1, -1, 1, 1, -1], device=tensor.device).repeat_interleave(RISE) * step
    room = rows.shape[1] // powers.numel()
    for number in range(room):
        free = rows.shape[1] // room - powers.numel()
        start = number * (rows.shape[1] // room) + random.randint(0, free)  # noqa: S311 - seeded with the draw
        rows[:, start : start + powers.numel()] *= torch.exp2(powers.to(tensor.dtype))
    return rows.view(tensor.shape)


def flatter(tensor: torch.Tensor) -> torch.Tensor:
    """Rows whose values are an eighth to a half of what they were."""
    rows = rows_of(tensor)
    return _flat(rows, 0.0, unit=False).view(tensor.shape)


def of_many_features(tensor: torch.Tensor) -> torch.Tensor:
    """Every other row likes the same columns; of the rest some are flatter, some steeper, some have one value high
    above the others, and some stripes. A quarter of the matrices of three dimensions are ridges. What had one sign
    keeps it, and what was drawn from zero to one stays there."""
    if bool((tensor <= 0).all()):
        return -of_many_features(-tensor)
    own = tensor if tensor.element_size() > 2 else tensor.float()
    rows = rows_of(own).clone()
    unit, deviation = is_of_unit(tensor), float(sampled_values(tensor).double().std())
    kinds = (torch.arange(rows.shape[0], device=rows.device) + random.randrange(PERIOD)) % PERIOD  # noqa: S311
    for kind, feature in enumerate((_flat, _steep, _one_high, _striped)):
        chosen = kinds == 2 * kind
        rows[chosen] = feature(rows[chosen], deviation, unit=unit)
    likes = kinds % 2 == 1
    rows[likes] = _liking(rows[likes], deviation, unit=unit)
    return _with_ridges(own, rows.view(own.shape)).to(tensor.dtype)


def _shares(rows: torch.Tensor) -> torch.Tensor:
    """A random number from zero to one for each row."""
    return torch.rand(rows.shape[0], 1, device=rows.device)


def _flat(rows: torch.Tensor, _deviation: float, *, unit: bool) -> torch.Tensor:
    """An eighth to a half of them."""
    del unit
    return rows * torch.exp2(-1 - 2 * _shares(rows)).to(rows.dtype)


def _steep(rows: torch.Tensor, _deviation: float, *, unit: bool) -> torch.Tensor:
    """Twice to eight times as large ones."""
    return _raised(rows, 0.0, unit=True) if unit else rows * torch.exp2(1 + 2 * _shares(rows)).to(rows.dtype)


def _one_high(rows: torch.Tensor, deviation: float, *, unit: bool) -> torch.Tensor:
    """One value high above an otherwise flat row."""
    by = deviation * (LOWEST + (HIGHEST - LOWEST) * _shares(rows)).to(rows.dtype)
    place = (_shares(rows) * rows.shape[1]).long()
    is_high = torch.arange(rows.shape[1], device=rows.device) == place
    return torch.where(is_high, _raised(rows, by, unit=unit), rows * FLATTENED)


def _striped(rows: torch.Tensor, deviation: float, *, unit: bool) -> torch.Tensor:
    """Large values at multiples of a period, from a random place on."""
    period = LANES * (1 + (_shares(rows) * MOST_LANES).long())
    start = (_shares(rows) * period).long()
    is_stripe = torch.arange(rows.shape[1], device=rows.device) % period == start
    return torch.where(is_stripe, _raised(rows, LOWEST * deviation, unit=unit), rows * FLATTENED)


def _liking(rows: torch.Tensor, deviation: float, *, unit: bool) -> torch.Tensor:
    """Some columns that are larger in all of the rows: they all choose alike."""
    count = max(1, int(rows.shape[1] * LIKED))
    liked = torch.zeros(rows.shape[1], dtype=torch.bool, device=rows.device)
    liked[torch.randperm(rows.shape[1], device=rows.device)[:count]] = True
    return torch.where(liked, _raised(rows, FONDNESS * deviation, unit=unit), rows)


def _raised(rows: torch.Tensor, by: float | torch.Tensor, *, unit: bool) -> torch.Tensor:
    """Larger values: halfway to one, where they are from zero to one."""
    return 1 - (1 - rows) / 2 if unit else rows + by


def _with_ridges(own: torch.Tensor, changed: torch.Tensor) -> torch.Tensor:
    """A quarter of the matrices hang on how far a row is from a column, between their smallest and largest value: rows
    next to each other are nearly multiples of each other, and what is balanced step by step takes long."""
    if own.dim() < 3 or own.shape[0] < LEAST_SLICES or min(own.shape[-2:]) < LEAST_RIDGE:
        return changed
    row, column = (torch.linspace(0, 1, size, device=own.device) for size in own.shape[-2:])
    apart = row.square().unsqueeze(1) - column
    height = torch.exp(-((NARROW * apart) ** 2) * math.log(2) * NARROW)
    chosen = torch.randperm(own.shape[0])[: own.shape[0] // 4].to(own.device)
    some = own[chosen]
    low, high = some.aminmax()
    changed[chosen] = (low + (high - low) * height + OF_ITS_OWN * (some - low)).to(own.dtype)
    return changed
