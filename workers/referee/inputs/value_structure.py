"""Structure that kernels may rely on and a change has to keep: zeros in place, symmetry, rows in order or of sum 1."""

from __future__ import annotations

from typing import Any

import torch

from workers.referee.inputs.float8 import widened
from workers.referee.inputs.value_kinds import FEW_VALUES, rows_of, sampled_values

SUMS_TO_ONE = 2e-3
"""How far sums, or lengths, of rows may be off one that were made to be one; in 16 bits they are so far off."""
MANY_ZEROS = 0.05
"""Share of zeros from which on they are a structure (a triangle, a band, padding)."""


TOGETHER = 0.5
"""How many of the neighbours that zeros by chance would have are numbers where zeros lie together."""
LEAST_PAIRS = 64
"""Neighbours that are enough to decide."""


def has_many_zeros(tensor: torch.Tensor) -> bool:
    """Whether so many values are zero that no other value may take their place."""
    return float((sampled_values(tensor) == 0).float().mean()) > MANY_ZEROS


def has_zeros_in_place(tensor: torch.Tensor) -> bool:
    """Whether many values are zero, and lie together: a triangle, a band, padding. Those of a ReLU lie anywhere."""
    if not has_many_zeros(tensor):
        return False
    rows = rows_of(widened(tensor))
    some = torch.arange(0, rows.shape[0], max(1, rows.shape[0] // FEW_VALUES), device=tensor.device)
    is_zero = rows[some] == 0
    pairs = is_zero[:, 1:].numel()
    share = float(is_zero.float().mean())
    changes = int((is_zero[:, 1:] != is_zero[:, :-1]).sum())
    return pairs < LEAST_PAIRS or changes < TOGETHER * 2 * share * (1 - share) * pairs


def structured(tensor: torch.Tensor, changed: torch.Tensor) -> torch.Tensor:
    """The change without what would break a structure that kernels may rely on: zeros in place, symmetry."""
    if has_many_zeros(tensor):
        changed = torch.where(tensor == 0, tensor, changed)
    if is_symmetric(tensor):
        changed = changed.tril() + changed.tril(-1).mT
    return with_rows_of(tensor, changed)


def with_rows_of(tensor: torch.Tensor, changed: torch.Tensor) -> torch.Tensor:
    """The change with rows in order, of sum one (probabilities) or of length one, where rows were so."""
    rows = rows_of(tensor)
    if rows.numel() < 2 or changed.numel() == 0 or tensor.is_complex():
        return changed
    return _in_order(rows, changed) if is_in_order(tensor) else _scaled(tensor, changed)


def is_in_order(tensor: torch.Tensor) -> bool:
    """Whether all rows rise, or all fall; few numbers do so by chance."""
    rows = rows_of(tensor)
    if rows.shape[1] < 2 or max(rows.shape) < FEW_VALUES:
        return False
    return _is_ordered(rows[:FEW_VALUES]) and _is_ordered(rows)


def has_rows_of_sum_one(tensor: torch.Tensor) -> bool:
    """Whether rows hold probabilities."""
    few = rows_of(tensor)[:FEW_VALUES].double()
    return few.numel() > 1 and bool((few >= 0).all()) and _is_one(few.sum(dim=1))


def has_rows_of_length_one(tensor: torch.Tensor) -> bool:
    """Whether rows hold unit vectors."""
    few = rows_of(tensor)[:FEW_VALUES].double()
    return few.numel() > 1 and _is_one(torch.linalg.vector_norm(few, dim=1))


def _is_ordered(rows: torch.Tensor) -> bool:
    return bool((rows[:, :-1] <= rows[:, 1:]).all()) or bool((rows[:, :-1] >= rows[:, 1:]).all())


def _in_order(rows: torch.Tensor, changed: torch.Tensor) -> torch.Tensor:
    """The change in the order in which rows are."""
    falls = bool((rows[:, 0] > rows[:, -1]).any())
    ordered: torch.Tensor = changed.sort(dim=-1, descending=falls).values
    return ordered


def _scaled(tensor: torch.Tensor, changed: torch.Tensor) -> torch.Tensor:
    """The change with rows of sum one (probabilities) or length one, where rows had that."""
    if has_rows_of_sum_one(tensor):
        share = changed.double().abs()
        return _divided(share, share.sum(dim=-1, keepdim=True), rows_of(tensor))
    if has_rows_of_length_one(tensor):
        exact = changed.double()
        length: torch.Tensor = torch.linalg.vector_norm(exact, dim=-1, keepdim=True)
        return _divided(exact, length, rows_of(tensor))
    return changed


def _divided(changed: torch.Tensor, by: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """The change with each row divided by a number; of a row that has no such number, the original one."""
    divided = (changed / by).to(rows.dtype)
    if changed.numel() != rows.numel():
        return divided
    return torch.where((by > 0) & torch.isfinite(by), divided, rows.view(changed.shape))


def _is_one(figures: torch.Tensor) -> bool:
    return bool(((figures - 1.0).abs() < SUMS_TO_ONE).all())


def prefix_kinds(mask: torch.Tensor, lengths: torch.Tensor) -> tuple[Any, Any] | None:
    """The values of a mask before and behind the end of each sequence, where its ends are the `lengths`; None where it
    is no such mask."""
    if lengths.dim() != 1 or mask.dim() < 2 or mask.is_complex() or mask.shape[0] != lengths.numel():
        return None
    if mask.numel() == 0 or mask.numel() != mask.shape[0] * max(mask.shape[1:]):
        return None
    if int(torch.unique(sampled_values(mask)).numel()) > 2:
        return None
    kinds = torch.unique(mask).tolist()
    for before, behind in (kinds, kinds[::-1]) if len(kinds) == 2 else ():
        made = prefixes(mask, lengths, (before, behind))
        if made is not None and torch.equal(made, mask):
            return before, behind
    return None


def prefixes(mask: torch.Tensor, lengths: torch.Tensor, kinds: tuple[Any, Any]) -> torch.Tensor | None:
    """A mask like another one, of one kind of values before and of one behind the end of each sequence; None where
    there is no length for each."""
    if mask.shape[0] != lengths.numel():
        return None
    place = torch.arange(mask.numel() // max(1, mask.shape[0]), device=mask.device)
    before, behind = (torch.full_like(mask, kind) for kind in kinds)
    return torch.where((place < lengths.unsqueeze(-1)).view(mask.shape), before, behind)


def is_symmetric(tensor: torch.Tensor) -> bool:
    """Whether a tensor holds symmetric matrices."""
    tensor = widened(tensor)
    if tensor.dim() < 2 or tensor.shape[-1] != tensor.shape[-2] or tensor.shape[-1] < 2:
        return False
    return torch.equal(tensor[..., 0], tensor[..., 0, :]) and torch.equal(tensor, tensor.mT)
