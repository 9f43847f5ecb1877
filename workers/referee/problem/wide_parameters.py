"""Parameters as no initialisation draws them: vectors from a wide range, matrices with a structure, zeros among both.

A trained gate, scale or temperature may be far from where it began, and a trained weight nearly of rank one. Each
tensor has several features at once, in different elements.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

from workers.referee.boundary.problem_messages import ModelVariant
from workers.referee.inputs.float8 import widened
from workers.referee.problem.other_parameters import USUAL_GAIN, changed_parameters
from workers.referee.problem.reference_problem import ReferenceProblem

FARTHEST = 5.0
"""Ends of the range of vectors that are spread."""
LARGEST = 10.0
"""How many times its size a vector grows to."""
ZEROS, ZEROS_OF_MATRIX = 8, 256
"""Of so many elements of a vector, or a matrix, one is zero."""
FEWEST = 4
"""Elements of a vector of which one may be zero: the others still show something."""
NOISE = 0.1
"""Noise on top of a matrix's structure, in proportion."""
FAINT = 1e-3
"""What one column is multiplied by."""


@contextlib.contextmanager
def wide_parameters(
    problem: ReferenceProblem, seed: int, variant: ModelVariant, width: float, *, signed: bool, zeros: bool
) -> Iterator[bool]:
    """Inside, parameters that training changes are `ModelVariant.SPREAD` or `GROWN`, over as much of the range as
    `width` says: of both signs where they are `signed`, else of those that they have, some of them zero where there may
    be `zeros`. Whether there are any. The model is as it was afterwards."""

    def change(parameter: torch.Tensor, generator: torch.Generator) -> None:
        value = widened(parameter)
        if not value.is_floating_point() or not value.numel():
            return
        shape = [size for size in value.shape if size > 1]
        if len(shape) > 1:
            rows = value.reshape(shape[0], -1)
            drawn = _near_rank_one(rows, generator) if variant is ModelVariant.SPREAD else _faint(rows, generator)
        else:
            drawn = _vector(value.reshape(-1), generator, variant, width)
        if not signed:
            drawn = drawn.abs().copysign(value.reshape(drawn.shape))
        if zeros:
            drawn = _with_zeros(drawn, generator, ZEROS_OF_MATRIX if len(shape) > 1 else ZEROS)
        parameter.copy_(drawn.reshape(value.shape))

    with changed_parameters(problem, seed, change) as has_any:
        yield has_any


def _vector(value: torch.Tensor, generator: torch.Generator, variant: ModelVariant, width: float) -> torch.Tensor:
    """Values from all of a range; its ends are among them, the upper one even of a single value."""
    rms = float(value.square().mean().sqrt())
    end = width * (FARTHEST if variant is ModelVariant.SPREAD or not rms else LARGEST * rms)
    drawn = (_uniform(value, generator) * 2 - 1) * end
    if value.numel() == 1:
        return torch.full_like(value, end).copysign(value) if variant is ModelVariant.GROWN else drawn * 0 + end
    ends = torch.randperm(value.numel(), device=value.device, generator=generator)[:2]
    drawn[ends[0]], drawn[ends[1]] = end, -end
    return drawn


def _with_zeros(drawn: torch.Tensor, generator: torch.Generator, one_of: int) -> torch.Tensor:
    """With some elements zero, but for the ends of a vector's range."""
    flat = drawn.reshape(-1).clone()
    if flat.numel() < FEWEST:
        return drawn
    places = torch.randperm(flat.numel(), device=flat.device, generator=generator)
    places = places[flat[places].abs() < flat.abs().max()]
    flat[places[: max(1, flat.numel() // one_of)]] = 0.0
    return flat.reshape(drawn.shape)


def _near_rank_one(rows: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """A matrix nearly of rank one, by whose norm vectors grow as by that of a matrix drawn at random."""
    left, right = (_uniform(one, generator) + 0.5 for one in (rows[:, :1], rows[:1]))
    product = left * right
    noise = NOISE * torch.randn(rows.shape, device=rows.device, generator=generator).to(rows.dtype)
    gain = float(sum(size**-0.5 for size in rows.shape))
    return (product + noise) * (_rms(rows) * gain)


def _faint(rows: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """A matrix as it is, or close to a multiple of the identity where it is square, with a faint row and column."""
    made = rows.clone()
    if rows.shape[0] == rows.shape[1]:
        noise = torch.randn(rows.shape, device=rows.device, generator=generator).to(rows.dtype)
        size = rows.shape[0] ** 0.5
        made = _rms(rows) * (noise * NOISE + size * torch.eye(rows.shape[0], device=rows.device, dtype=rows.dtype))
    row, column = (int(torch.randint(size, (1,), device=rows.device, generator=generator)) for size in made.shape)
    made[row] *= FAINT
    made[:, column] *= FAINT
    return made


def _rms(rows: torch.Tensor) -> float:
    """The size of a matrix's elements, or the usual one of a matrix of zeros."""
    return float(rows.square().mean().sqrt()) or USUAL_GAIN * float(rows.shape[1]) ** -0.5


def _uniform(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return torch.rand(like.shape, device=like.device, generator=generator).to(like.dtype)
