"""Input draws: what a candidate is tried on. All derived from the problem's own inputs, so that they are valid."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from workers.ipc.tensors import flatten, mapped
from workers.referee.evenness import is_even
from workers.runner.stepping import DENSE, EXPANDED, TURNED

SAMPLE = 1024
FEW_VALUES = 16
LARGE = 64.0
TINY = 1e-3
WIDEST = 1e4
"""Largest magnitude of the widest draw."""
PATTERN = 4099
"""Random factors before they repeat: prime, so that they fall differently on every row."""
FAINT = 1 / 32
"""Factor of a block that keeps signs and range."""
SPIKE = 256.0
"""Height of a spike over the largest magnitude around it."""
ROUNDING = 2.0**-23
COARSE = 2.0**-16
"""A nudge by which some of many rounded results change."""
FEW_WHOLE = 16
"""Different whole numbers of a draw that has few."""
WIDEST_WHOLE = {torch.int16: 1 << 12, torch.int32: 1 << 15, torch.int64: 1 << 20}
"""Largest whole numbers that are drawn where a problem's are smaller: their products fit into the dtype."""
MOST_CHANCE = 16
"""Squared count over range, from which on independent whole numbers are never all different (about e^-8)."""
LEAST_SLICES = 4
"""Leading size from which on one slice may hold what is not finite: the others have to be right."""

SUMS_TO_ONE = 2e-3
"""How far sums, or lengths, of rows may be off one that were made to be one; in 16 bits they are so far off."""

MOST_SIZES = 4
"""Further sizes that are cut."""
MANY_ZEROS = 0.05
"""Share of zeros from which on they are a structure (a triangle, a band, padding)."""

Transform = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """A way to change drawn inputs."""

    name: str
    transform: Transform | None
    """Applied to every continuous floating-point tensor; None leaves the draw as the problem made it."""
    first_only: bool = False
    """Whether only the first of these tensors is changed."""
    finite: bool = True
    """Whether outputs are finite; where not, leading slices that the reference leaves finite are judged."""
    harsh: bool = False
    """Whether magnitudes are such that an input's last bit shows: a kernel is then as right as the exact result of
    inputs that were rounded once more."""
    whole: Transform | None = None
    """Applied to every tensor of general whole numbers, where those are what changes."""
    code: Transform | None = None
    """Applied to every tensor of codes (a mask, labels, bytes), where those are what changes."""
    piles_up: bool = False
    """Whether sums may pile up in one place, by indices that are alike: a row or column then holds hardly more than one
    sum, which has no error to average."""
    constant: Transform | None = None
    """Applied to every tensor of one value, where those are what changes."""
    has_ties: bool = False
    """Whether equal values occur: not for references whose choice among equals is nobody's business."""
    layout: int = DENSE
    """How cotangents lie in memory, where there are any; see `workers.runner.stepping`."""


def _mixed(tensor: torch.Tensor) -> torch.Tensor:
    """Random signs, and magnitudes spread over three decades."""
    sign = torch.randint(0, 2, (PATTERN,), device=tensor.device) * 2 - 1
    pattern = (sign * torch.pow(10.0, torch.rand(PATTERN, device=tensor.device) * 3 - 2)).to(tensor.dtype)
    repeated = pattern.repeat(-(-tensor.numel() // PATTERN))[: tensor.numel()]
    return tensor * repeated.view(tensor.shape)


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    """Magnitudes up to 1e4, whatever they were."""
    return tensor * (WIDEST / max(_magnitude(tensor), 1e-30))


def _offset(tensor: torch.Tensor) -> torch.Tensor:
    """A mean of about two standard deviations: more would only show how a variance was summed."""
    sign = 1 if random.random() < 0.5 else -1  # noqa: S311 - seeded with the draw
    return tensor + sign * random.uniform(1.5, 3.0) * float(_sampled(tensor).double().std())  # noqa: S311


def _blocks(tensor: torch.Tensor) -> torch.Tensor:
    """Half of the rows keep signs and range, but have a stretch of small values somewhere."""
    rows = _rows(tensor)
    count, size = rows.shape
    device = tensor.device
    start = torch.rand(count, 1, device=device) * size
    end = start + (0.125 + 0.375 * torch.rand(count, 1, device=device)) * size
    start[torch.rand(count, 1, device=device) < (0.5 if count > 1 else 0.0)] = size
    place = torch.arange(size, device=device)
    return torch.where((place >= start) & (place < end), rows * FAINT, rows).view(tensor.shape)


def _spike(tensor: torch.Tensor) -> torch.Tensor:
    """One high and one low value somewhere: everything else is as the problem made it."""
    return _spiked(tensor, 1)


def _spikes(tensor: torch.Tensor) -> torch.Tensor:
    """High and low values in some of the rows."""
    return _spiked(tensor, max(1, _rows(tensor).shape[0] // 4))


def _spiked(tensor: torch.Tensor, pairs: int) -> torch.Tensor:
    changed = tensor.clone().reshape(-1)
    places = torch.randint(0, changed.numel(), (2 * pairs,), device=tensor.device)
    height = min(WIDEST, SPIKE * _magnitude(tensor))
    signs = torch.ones(2 * pairs, device=tensor.device, dtype=tensor.dtype)
    signs[pairs:] = -1
    changed[places] = signs * height
    return changed.view(tensor.shape)


def _ties(tensor: torch.Tensor) -> torch.Tensor:
    """Few different values, and constant rows. Those hold a power of two, of which means are exact."""
    step = max(float(_sampled(tensor).double().std()) / 2, 1e-30)
    rows = _rows(tensor).div(step).round_().mul_(step)
    chosen = torch.randperm(rows.shape[0], device=tensor.device)[: rows.shape[0] // 8]
    first = rows[chosen, :1].float()
    power = torch.exp2(torch.round(torch.log2(first.abs().clamp_min(1e-6)))).copysign(first)
    rows[chosen] = power.to(tensor.dtype)
    return rows.view(tensor.shape)


def _not_finite(tensor: torch.Tensor) -> torch.Tensor:
    """A NaN in one slice of the leading dimension, an infinity in another."""
    if tensor.dim() == 0 or tensor.shape[0] < LEAST_SLICES:
        return tensor
    slices = tensor.clone().view(tensor.shape[0], -1)
    endless = math.inf if random.random() < 0.5 else -math.inf  # noqa: S311 - seeded with the draw
    chosen = torch.randperm(slices.shape[0])[:2].tolist()
    for index, value in zip(chosen, (math.nan, endless), strict=True):
        slices[index, int(torch.randint(0, slices.shape[1], ()))] = value
    return slices.view(tensor.shape)


def _as_it_is(tensor: torch.Tensor) -> torch.Tensor:
    return tensor


def _one_value(tensor: torch.Tensor) -> torch.Tensor:
    """A value that occurs, everywhere: as an index or a label it is as good as any."""
    return torch.full_like(tensor, int(tensor.reshape(-1)[int(torch.randint(0, tensor.numel(), ()))]))


def _other_places(tensor: torch.Tensor) -> torch.Tensor:
    """Few of the values, at random places."""
    flat = tensor.reshape(-1)
    kept = flat[torch.randint(0, flat.numel(), (FEW_WHOLE,), device=tensor.device)]
    return kept[torch.randint(0, FEW_WHOLE, (flat.numel(),), device=tensor.device)].view(tensor.shape)


def _beyond(tensor: torch.Tensor) -> torch.Tensor:
    """Values far beyond those that occur, as the dtype permits: who reads only their lowest byte shows it."""
    largest = max(1, int(tensor.abs().max()))
    factor = max(1, WIDEST_WHOLE[tensor.dtype] // (largest + 1))
    return tensor * factor + torch.randint(0, factor, tensor.shape, device=tensor.device).to(tensor.dtype)


def _rare(tensor: torch.Tensor) -> torch.Tensor:
    """Rows of one code, which is one of two, and in some of them the other one at a single place."""
    kinds = torch.unique(_sampled(tensor))
    pair = kinds[torch.randperm(kinds.numel()).to(kinds.device)[:2]]
    rows = _rows(torch.empty_like(tensor))
    usual = torch.randint(0, 2, (rows.shape[0],), device=tensor.device)
    rows.copy_(pair[usual].unsqueeze(1).expand_as(rows))
    chosen = torch.randperm(rows.shape[0], device=tensor.device)[: (rows.shape[0] + 1) // 2]
    places = torch.randint(0, rows.shape[1], chosen.shape, device=tensor.device)
    rows[chosen, places] = pair[1 - usual[chosen]]
    return rows.view(tensor.shape)


def _any_code(tensor: torch.Tensor) -> torch.Tensor:
    """A value that occurs, everywhere."""
    return torch.full_like(tensor, tensor.reshape(-1)[int(torch.randint(0, tensor.numel(), ()))].item())


def _other_ones(tensor: torch.Tensor) -> torch.Tensor:
    """Other values of the same sign in the place of one that is not zero."""
    return tensor * (torch.rand(tensor.shape, device=tensor.device) + 0.6).to(tensor.dtype)


def _other_zeros(tensor: torch.Tensor) -> torch.Tensor:
    """Small numbers in the place of zeros."""
    return torch.where(tensor == 0, (torch.rand(tensor.shape, device=tensor.device) - 0.5).to(tensor.dtype), tensor)


def is_code(tensor: torch.Tensor) -> bool:
    """Whether a tensor holds a mask, labels of few kinds or bytes, drawn for each place: nothing in order, in blocks,
    of which each row has as many, or all different."""
    if tensor.is_complex() or tensor.numel() < 2 * FEW_WHOLE or is_whole(tensor):
        return False
    kinds = int(torch.unique(_sampled(tensor)).numel())
    if kinds < 2 or kinds == tensor.numel() or (tensor.element_size() > 1 and kinds > FEW_VALUES):
        return False
    return is_even(tensor)


def is_constant(tensor: torch.Tensor) -> bool:
    """Whether a tensor of several floating-point numbers holds one value: ones for a scale, zeros for a shift."""
    if not tensor.is_floating_point() or tensor.numel() < 2:
        return False
    first = tensor.reshape(-1)[0]
    return bool(torch.isfinite(first)) and bool((tensor == first).all())


def is_whole(tensor: torch.Tensor) -> bool:
    """Whether a tensor holds general whole numbers: no mask or code of few values, nor anything in order (offsets), nor
    all different ones (a permutation)."""
    if tensor.dtype not in WIDEST_WHOLE or tensor.numel() < 2 * FEW_WHOLE:
        return False
    rows = _rows(tensor)[:LEAST_SLICES]
    if int(torch.unique(_sampled(tensor)).numel()) <= FEW_VALUES:
        return False
    if tensor.numel() ** 2 < MOST_CHANCE * (float(tensor.max()) - float(tensor.min()) + 1.0):
        return False  # so few of so many that they are all different by chance, or now and then not
    is_in_order = bool((rows[:, 1:] >= rows[:, :-1]).all()) or bool((rows[:, 1:] <= rows[:, :-1]).all())
    return not is_in_order and int(torch.unique(tensor).numel()) < tensor.numel()


def _rows(tensor: torch.Tensor) -> torch.Tensor:
    dense = tensor.contiguous()
    return dense.view(-1, dense.shape[-1]) if dense.dim() > 1 else dense.view(1, -1)


def _magnitude(tensor: torch.Tensor) -> float:
    """About the largest: a draw of many has values a little beyond those that were looked at."""
    return float(torch.linalg.vector_norm(_sampled(tensor), ord=math.inf))


OWN = Distribution(name="own", transform=None)
WIDE = Distribution(name="wide", transform=_wide, harsh=True)
BIG = Distribution(name="large", transform=lambda tensor: tensor * LARGE, harsh=True)
TELLING = (
    Distribution(name="one spike in", transform=_spike, harsh=True),
    Distribution(name="block-wise", transform=_blocks),
)
"""They look like the problem's own nearly everywhere: tried on every input set of every size."""
OTHERS = (
    WIDE,
    Distribution(name="offset", transform=_offset),
    Distribution(name="mixed signs", transform=_mixed),
    Distribution(name="tiny", transform=lambda tensor: tensor * TINY),
    Distribution(name="tied", transform=_ties, has_ties=True),
    Distribution(name="spiked", transform=_spikes, harsh=True),
    Distribution(name="partly not finite", transform=_not_finite, first_only=True, finite=False),
)
WHOLE = (
    Distribution(name="larger whole", transform=_as_it_is, whole=_beyond),
    Distribution(name="few whole", transform=_as_it_is, piles_up=True, whole=_other_places, has_ties=True),
    Distribution(name="equal whole", transform=_as_it_is, piles_up=True, whole=_one_value, has_ties=True),
)
"""Tried where inputs hold general whole numbers and the reference takes them."""
CODES = (
    Distribution(name="rare code", transform=_as_it_is, piles_up=True, code=_rare, has_ties=True),
    Distribution(name="equal codes", transform=_as_it_is, piles_up=True, code=_any_code, has_ties=True),
)
"""Tried where inputs hold codes that are drawn for each place, and the reference takes them."""
CONSTANTS = (
    Distribution(name="other ones", transform=_as_it_is, constant=_other_ones),
    Distribution(name="other zeros", transform=_as_it_is, constant=_other_zeros),
)
"""Tried where inputs hold tensors of one value."""
TURNED_COTANGENTS = Distribution(name="own, with turned cotangents,", transform=None, layout=TURNED)
EXPANDED_COTANGENTS = Distribution(name="own, with expanded cotangents,", transform=None, layout=EXPANDED)
LAYOUTS = (TURNED_COTANGENTS, EXPANDED_COTANGENTS)
"""Tried where gradients are judged: whoever transposes or sums behind a kernel hands it such cotangents."""
DISTRIBUTIONS = (OWN, *TELLING, *OTHERS, BIG)


def is_continuous(tensor: torch.Tensor) -> bool:
    """Whether a tensor holds general numbers rather than a mask, labels or codes."""
    if tensor.is_complex():
        return is_continuous(torch.view_as_real(tensor.resolve_conj()))
    if not tensor.is_floating_point() or tensor.numel() < 2:
        return False
    sample = _sampled(tensor)
    if not bool(torch.isfinite(sample).all()):
        return False
    return int(torch.unique(sample).numel()) > min(FEW_VALUES, sample.numel() // 2)


def _sampled(tensor: torch.Tensor) -> torch.Tensor:
    flat = tensor.reshape(-1)
    places = torch.linspace(0, flat.numel() - 1, min(SAMPLE, flat.numel()), device=tensor.device)
    return flat[places.long().clamp_(max=flat.numel() - 1)]


def drawn(arguments: list[Any], distribution: Distribution) -> list[Any]:
    """Arguments with their continuous tensors changed as a distribution has it."""
    if distribution.transform is None:
        return arguments
    tensors = flatten(arguments)
    changed = list(tensors)
    places = [index for index, tensor in enumerate(tensors) if is_continuous(tensor)]
    for index in places[:1] if distribution.first_only else places:
        changed[index] = _structured(tensors[index], _changed(tensors[index], distribution.transform))
    for change, is_such in (
        (distribution.whole, is_whole),
        (distribution.code, is_code),
        (distribution.constant, is_constant),
    ):
        if change is not None:
            changed = [change(tensor) if is_such(tensor) else tensor for tensor in changed]
    if distribution.finite:
        changed = [_single(tensor) for tensor in changed]
    return list(rebuilt(arguments, changed))


def _special(distribution: Distribution) -> list[tuple[Transform, Callable[[torch.Tensor], bool]]]:
    """What a distribution does to tensors that are not continuous, and which those are."""
    kinds = (distribution.whole, is_whole), (distribution.code, is_code), (distribution.constant, is_constant)
    return [(change, is_such) for change, is_such in kinds if change is not None]


def changes(arguments: list[Any], distribution: Distribution) -> bool:
    """Whether a distribution that is about some kind of tensor finds one here: of values drawn at random, some are
    seen for what they are in one draw and not in another."""
    special, tensors = _special(distribution), flatten(arguments)
    return not special or any(is_such(tensor) for _, is_such in special for tensor in tensors)


def _changed(tensor: torch.Tensor, transform: Transform) -> torch.Tensor:
    """A change of a tensor, or of complex numbers' real and imaginary parts, as if these were rows of their own."""
    if not tensor.is_complex():
        return transform(tensor)
    parts = torch.view_as_real(tensor.resolve_conj()).movedim(-1, 0).contiguous()
    return torch.complex(*transform(parts))


def _single(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor of one number (a scale, a temperature) gets another: problems often hold it at one value."""
    if tensor.numel() != 1 or not tensor.is_floating_point():
        return tensor
    return tensor * random.uniform(0.6, 1.6)  # noqa: S311 - seeded with the draw


def nudged(arguments: list[Any], by: float = ROUNDING) -> list[Any]:
    """Arguments in float64 whose values are off by up to a rounding to float, as they are inside of many a kernel."""

    def nudge(tensor: torch.Tensor) -> torch.Tensor:
        if not (tensor.is_floating_point() or tensor.is_complex()):
            return tensor
        exact = tensor.to(torch.complex128 if tensor.is_complex() else torch.float64)
        return exact + exact * (torch.rand(tensor.shape, device=tensor.device) * 2 - 1) * by

    return list(mapped(arguments, nudge))


def _has_zeros_in_place(tensor: torch.Tensor) -> bool:
    return float((_sampled(tensor) == 0).float().mean()) > MANY_ZEROS


def _structured(tensor: torch.Tensor, changed: torch.Tensor) -> torch.Tensor:
    """The change without what would break a structure that kernels may rely on: zeros in place, symmetry."""
    if _has_zeros_in_place(tensor):
        changed = torch.where(tensor == 0, tensor, changed)
    if _is_symmetric(tensor):
        changed = changed.tril() + changed.tril(-1).mT
    return _with_rows_of(tensor, changed)


def _with_rows_of(tensor: torch.Tensor, changed: torch.Tensor) -> torch.Tensor:
    """The change with rows in order, of sum one (probabilities) or of length one, where rows were so."""
    rows = _rows(tensor)
    if rows.shape[1] < FEW_VALUES or changed.numel() == 0 or tensor.is_complex():
        return changed
    return _in_order(rows, changed) if _is_ordered(rows[:FEW_VALUES]) and _is_ordered(rows) else _scaled(rows, changed)


def _is_ordered(rows: torch.Tensor) -> bool:
    return bool((rows[:, :-1] <= rows[:, 1:]).all()) or bool((rows[:, :-1] >= rows[:, 1:]).all())


def _in_order(rows: torch.Tensor, changed: torch.Tensor) -> torch.Tensor:
    """The change in the order in which rows are."""
    falls = bool((rows[:, 0] > rows[:, -1]).any())
    ordered: torch.Tensor = changed.sort(dim=-1, descending=falls).values
    return ordered


def _scaled(rows: torch.Tensor, changed: torch.Tensor) -> torch.Tensor:
    """The change with rows of sum one (probabilities) or length one, where rows had that."""
    few = rows[:FEW_VALUES].double()
    if bool((few >= 0).all()) and _is_one(few.sum(dim=1)):
        share = changed.double().abs()
        return (share / share.sum(dim=-1, keepdim=True)).to(changed.dtype)
    if _is_one(torch.linalg.vector_norm(few, dim=1)):
        exact = changed.double()
        length: torch.Tensor = torch.linalg.vector_norm(exact, dim=-1, keepdim=True)
        return (exact / length).to(changed.dtype)
    return changed


def _is_one(figures: torch.Tensor) -> bool:
    return bool(((figures - 1.0).abs() < SUMS_TO_ONE).all())


def _is_symmetric(tensor: torch.Tensor) -> bool:
    if tensor.dim() < 2 or tensor.shape[-1] != tensor.shape[-2] or tensor.shape[-1] < 2:
        return False
    return torch.equal(tensor[..., 0], tensor[..., 0, :]) and torch.equal(tensor, tensor.mT)


def rebuilt(value: Any, tensors: Sequence[torch.Tensor]) -> Any:
    """A nested value with its tensors replaced, in the order of `flatten`."""
    following = iter(tensors)
    return mapped(value, lambda _: next(following))


def cut_along(tensors: Sequence[torch.Tensor], *, last: bool, generator: random.Random) -> list[torch.Tensor] | None:
    """Smaller inputs: the first (or last) dimension that the tensors share, cut to an odd size; None if there is none.

    The dimension is the first tensor's; every tensor with the same size there is cut with it.
    """
    size = _shared_size(tensors, last=last)
    if size is None or size < 4:
        return None
    return resized(tensors, _odd_part(size, generator), last=last)


def _odd_part(size: int, generator: random.Random) -> int:
    """An odd size below a given one, half of it or more where that is not too many."""
    new = min(generator.randrange(size // 2, size), 67)
    return new - 1 + new % 2


def resized(tensors: Sequence[torch.Tensor], new: int, *, last: bool) -> list[torch.Tensor] | None:
    """Inputs whose first (or last) dimension has a new size, larger ones repeating what is there; None as above.

    None too where that would break a structure: a triangle, symmetry."""
    size = _shared_size(tensors, last=last)
    if size is None or size < 1:
        return None
    if new > size and any(map(_has_zeros_in_place, tensors)):
        return None
    axis = -1 if last else 0
    return [
        _resized(tensor, axis, new) if tensor.dim() and tensor.shape[axis] == size else tensor for tensor in tensors
    ]


def cut_sizes(tensors: Sequence[torch.Tensor], generator: random.Random) -> list[list[torch.Tensor]]:
    """Smaller inputs by each further size among all dimensions (a middle one, columns of a second factor): every
    dimension of that size is cut with it."""
    if any(map(_is_symmetric, tensors)):
        return []
    known = [_shared_size(tensors, last=last) for last in (False, True)]
    sizes = dict.fromkeys(size for tensor in tensors for size in tensor.shape if size >= 4 and size not in known)
    found = []
    for size in list(sizes)[:MOST_SIZES]:
        new = _odd_part(size, generator)
        cut = list(tensors)
        for index, tensor in enumerate(tensors):
            for axis in range(tensor.dim()):
                cut[index] = cut[index].narrow(axis, 0, new) if tensor.shape[axis] == size else cut[index]
        found.append([_with_structure(old, new.contiguous()) for old, new in zip(tensors, cut, strict=True)])
    return found


def _shared_size(tensors: Sequence[torch.Tensor], *, last: bool) -> int | None:
    if not tensors or tensors[0].dim() < (2 if last else 1) or any(map(_is_symmetric, tensors)):
        return None
    return int(tensors[0].shape[-1 if last else 0])


def _resized(tensor: torch.Tensor, axis: int, new: int) -> torch.Tensor:
    """The beginning, or the whole followed by its beginning: rows in another order are new rows to a kernel."""
    size = tensor.shape[axis]
    if new <= size:
        return _with_structure(tensor, tensor.narrow(axis, 0, new).contiguous())
    copies = [tensor.flip(axis)] * (new // size) + [tensor.narrow(axis, 0, new % size)]
    return _with_structure(tensor, torch.cat(copies, dim=axis))


def _with_structure(tensor: torch.Tensor, changed: torch.Tensor) -> torch.Tensor:
    return _with_rows_of(tensor, changed) if is_continuous(tensor) else changed
