"""Indices that belong together: where rows start and what their columns are (CSR, BSR), or sorted coordinates (COO).

Such tensors are changed together or not at all. An index of its own may be any of those that occur; a column has to
come after the one before it, and starts have to fit the columns that there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

INDEX_DTYPES = (torch.int32, torch.int64)
LONG_SHARE = 0.5
"""Of the entries of an uneven draw, those in few long rows; each has a quarter of what is left, if it can."""
EMPTY_SHARE = 1 / 3
"""Of the other rows, those without an entry."""
LEAST_REACHING = 4
"""Whole numbers below which all may lie within any size by chance."""


@dataclass(frozen=True, kw_only=True)
class IndexStructure:
    """Places, among the tensors of a call, of those that say where entries are."""

    starts: int | None
    """Where each row's entries begin, and the last one's end; None of coordinates."""
    rows: int | None
    """Each entry's row, in order; None where starts say it. The same place as `columns` where one tensor has both."""
    columns: int
    """Each entry's column."""
    entries: int
    """How many there are."""
    ordered: bool = True
    """Whether the columns of a row are in order and different. Where not, they may be anything (tokens of sequences,
    for one), and change by themselves."""

    @property
    def places(self) -> frozenset[int]:
        """The tensors that change together."""
        columns = self.columns if self.ordered else None
        return frozenset(place for place in (self.starts, self.rows, columns) if place is not None)


def index_structure(tensors: Sequence[torch.Tensor]) -> IndexStructure | None:
    """The first one among the tensors of a call; None where there is none."""
    flat = [place for place, one in enumerate(tensors) if one.dtype in INDEX_DTYPES and one.dim() == 1]
    for starts in flat:
        count = _counted(tensors[starts])
        for columns in flat:
            if count and columns != starts and tensors[columns].numel() == count:
                ordered = _are_ordered(tensors[starts], tensors[columns])
                return IndexStructure(starts=starts, rows=None, columns=columns, entries=count, ordered=ordered)
    for place, one in enumerate(tensors):
        if one.dtype in INDEX_DTYPES and one.dim() == 2 and one.shape[0] == 2 and _are_sorted(one[0], one[1]):
            return IndexStructure(starts=None, rows=place, columns=place, entries=one.shape[1])
    for rows in flat:
        for columns in flat:
            same = rows != columns and tensors[rows].shape == tensors[columns].shape
            if same and _are_sorted(tensors[rows], tensors[columns]):
                return IndexStructure(starts=None, rows=rows, columns=columns, entries=tensors[rows].numel())
    return None


def _counted(starts: torch.Tensor) -> int:
    """The entries that starts divide; 0 where a tensor holds no starts."""
    if starts.numel() < 3 or int(starts[0]) != 0 or not bool((starts[1:] >= starts[:-1]).all()):
        return 0
    return int(starts[-1])


def _are_ordered(starts: torch.Tensor, columns: torch.Tensor) -> bool:
    """Whether each row's columns are in order and different."""
    falls = columns[1:] <= columns[:-1]
    begins = torch.zeros(columns.numel() + 1, dtype=torch.bool, device=columns.device)
    begins[starts.long()] = True
    return not bool((falls & ~begins[1:-1]).any())


def _are_sorted(rows: torch.Tensor, columns: torch.Tensor) -> bool:
    """Whether entries are ordered by row and, within one, by column, and rows have several."""
    if rows.numel() < 3 or int(rows.min()) < 0:
        return False
    same, later = rows[1:] == rows[:-1], rows[1:] > rows[:-1]
    return bool(same.any()) and bool((later | (same & (columns[1:] > columns[:-1]))).all())


def uneven(tensors: Sequence[torch.Tensor], found: IndexStructure) -> list[torch.Tensor] | None:
    """The same tensors with the entries elsewhere: a few rows have many, some none, all in order. None where entries
    are where they are for a reason: a triangle, a band, symmetry, as many in each row."""
    starts, columns = _starts_and_columns(tensors, found)
    counts = starts.diff()
    width = int(columns.max()) + 1 if found.ordered else found.entries
    if not (_is_general(counts, columns, width) if found.ordered else _are_counts_general(counts)):
        return None
    lengths = _uneven_lengths(counts.numel(), found.entries, width, counts.device)
    row = torch.repeat_interleave(torch.arange(lengths.numel(), device=lengths.device), lengths)
    begin = torch.cat((lengths.new_zeros(1), lengths.cumsum(0)))
    if not found.ordered:
        return _with(tensors, found, begin, row, columns)
    within, length = torch.arange(found.entries, device=row.device) - begin[row], lengths[row]
    low, high = within * width // length, (within + 1) * width // length
    spread = (torch.rand(found.entries, device=row.device, dtype=torch.float64) * (high - low)).long()
    return _with(tensors, found, begin, row, low + spread)


def first_rows(tensors: Sequence[torch.Tensor], found: IndexStructure, count: int) -> list[torch.Tensor]:
    """The tensors with the entries of the first `count` rows only, or so many coordinates."""
    begin = tensors[found.starts] if found.starts is not None else None
    entries = min(count, found.entries) if begin is None else int(begin[count])
    cut = []
    for place, one in enumerate(tensors):
        if place == found.starts:
            cut.append(one[: count + 1].contiguous())
        elif place == found.rows == found.columns:
            cut.append(one[:, :entries].contiguous())
        else:
            belongs = place in found.places or (one.dim() > 0 and one.shape[0] == found.entries)
            cut.append(one[:entries].contiguous() if belongs else one)
    return cut


def more_rows(tensors: Sequence[torch.Tensor], found: IndexStructure, times: int) -> list[torch.Tensor]:
    """The tensors with so many times the rows and entries, or coordinates: what is not in order is turned round in
    every second copy, so that its rows are new ones."""
    longer, rows = list(tensors), _starts_and_columns(tensors, found)[0].numel() - 1
    for place, one in enumerate(tensors):
        number = torch.arange(times, device=one.device, dtype=one.dtype if one.dtype in INDEX_DTYPES else torch.int64)
        if place == found.starts:
            further = one[1:] + number.unsqueeze(1) * found.entries
            longer[place] = torch.cat((one[:1], further.reshape(-1)))
        elif place == found.rows == found.columns:
            further = one.unsqueeze(1).repeat(1, times, 1)
            further[0] += number.unsqueeze(1) * rows
            longer[place] = further.flatten(1)
        elif place == found.rows:
            longer[place] = (one + number.unsqueeze(1) * rows).reshape(-1)
        elif place in found.places:
            longer[place] = one.repeat(times)
        elif one.dim() > 0 and one.shape[0] == found.entries:
            longer[place] = torch.cat([one.flip(0) if odd % 2 else one for odd in range(times)])
    return longer


def reaching(tensors: Sequence[torch.Tensor], size: int, new: int) -> list[torch.Tensor] | None:
    """The tensors, those that may hold places in a dimension that has grown from `size` spread over all of it, in the
    same order; None where none does."""
    together, changed = index_structure(tensors), list(tensors)
    kept = {together.starts, together.rows} if together is not None else set[int | None]()
    for place, one in enumerate(tensors):
        if place in kept or one.dtype not in INDEX_DTYPES or one.numel() < LEAST_REACHING:
            continue
        low, high = (int(end) for end in one.aminmax())
        if low >= 0 and size // 2 < high < size:
            changed[place] = (one.long() * (new - 1) // (size - 1)).to(one.dtype)
    return changed if any(one is not other for one, other in zip(tensors, changed, strict=True)) else None


def row_count(tensors: Sequence[torch.Tensor], found: IndexStructure) -> int:
    """The rows, or coordinates, that can be cut."""
    return found.entries if found.starts is None else tensors[found.starts].numel() - 1


def _starts_and_columns(tensors: Sequence[torch.Tensor], found: IndexStructure) -> tuple[torch.Tensor, torch.Tensor]:
    if found.starts is not None:
        return tensors[found.starts].long(), tensors[found.columns].long()
    assert found.rows is not None
    both = tensors[found.rows].long()
    rows, columns = both if found.rows == found.columns else (both, tensors[found.columns].long())
    counts = torch.bincount(rows)
    return torch.cat((counts.new_zeros(1), counts.cumsum(0))), columns


def _is_general(counts: torch.Tensor, columns: torch.Tensor, width: int) -> bool:
    """Whether entries look as if they could be anywhere."""
    if width < 8 or not _are_counts_general(counts):
        return False
    row = torch.repeat_interleave(torch.arange(counts.numel(), device=counts.device), counts)
    apart = columns - row * width // counts.numel()
    is_triangular = bool((columns <= row).all()) or bool((columns >= row).all())
    is_band = 2 * int(apart.abs().max()) < width
    return not (is_triangular or is_band or _is_symmetric(row, columns, counts.numel(), width))


def _are_counts_general(counts: torch.Tensor) -> bool:
    return counts.numel() >= 8 and not bool((counts == counts[0]).all())


def _is_symmetric(row: torch.Tensor, columns: torch.Tensor, rows: int, width: int) -> bool:
    size = max(rows, width)
    return torch.equal((row * size + columns).sort().values, (columns * size + row).sort().values)


def _uneven_lengths(rows: int, entries: int, width: int, device: torch.device) -> torch.Tensor:
    """Lengths of rows, none above the width: some long, some zero, the rest as chance has it."""
    lengths = torch.zeros(rows, dtype=torch.int64)
    order, left = torch.randperm(rows), entries
    for row in order[: max(1, rows // 8)].tolist():
        if left <= LONG_SHARE * entries:
            break
        lengths[row] = min(width, -(-left // 4))
        left -= int(lengths[row])
    usual = order[lengths[order] == 0]
    usual = usual[: max(1, round(usual.numel() * (1 - EMPTY_SHARE)))]
    share = torch.rand(usual.numel())
    lengths[usual] = (share / share.sum() * left).long().clamp(max=width)
    for row in order.tolist():  # what rounding and the width have left over
        left = entries - int(lengths.sum())
        if left == 0:
            break
        lengths[row] += min(width - int(lengths[row]), left)
    return lengths.to(device)


def _with(
    tensors: Sequence[torch.Tensor],
    found: IndexStructure,
    begin: torch.Tensor,
    row: torch.Tensor,
    columns: torch.Tensor,
) -> list[torch.Tensor]:
    changed = list(tensors)
    new = {found.starts: begin, found.rows: row, found.columns: columns}
    if found.rows == found.columns:
        new = {found.columns: torch.stack((row, columns))}
    for place, values in new.items():
        if place is not None:
            changed[place] = values.to(tensors[place].dtype)
    return changed
