"""Changes of a tensor's values: wider, spiked, tied, coded otherwise."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

import torch

from workers.referee.inputs.value_kinds import FEW_WHOLE, LEAST_SLICES, WIDEST_WHOLE, magnitude, rows_of, sampled_values

LARGE = 64.0
TINY = 1e-3
WIDEST = 1e4
"""Largest magnitude of the widest draw."""
FARTHEST = 2.0**25
"""Largest magnitude of a draw that half precision does not hold: no factor brings both it and what `TINY` leaves of a
draw into that range. Sums of products of two such numbers, and the squares of these sums, are finite in float."""
PATTERN = 4099
"""Random factors before they repeat: prime, so that they fall differently on every row."""
FAINT = 1 / 32
"""Factor of a block that keeps signs and range."""
OUTSIZED = 1e6
"""Height of one element over the others: what is added to it and taken off again loses nearly all digits."""
SPIKE = 256.0
"""Height of a spike over the largest magnitude around it."""
ODD = 0x1E3779B97F4A7C15
"""Multiplies whole numbers so that they fall all over their dtype's range, with its low bits in bytes."""
MOST_ORDERED = 1 << 19
"""Elements of the rows that are put in order, where a row has no more."""
DISPLACED = 300.0
BITS = {torch.float16: torch.int16, torch.bfloat16: torch.int16, torch.float32: torch.int32, torch.float64: torch.int64}
"""Whole numbers as long as floats, by which their bits are read."""
NAN_KINDS = 3
PLANTED = 1 / 8
"""Of elements in whose place a named number is put."""
MOST_AT_END = 8
"""Places at the end of a row that hold its largest value."""
Transform = Callable[[torch.Tensor], torch.Tensor]


def mixed(tensor: torch.Tensor) -> torch.Tensor:
    """Random signs, and magnitudes spread over three decades."""
    sign = torch.randint(0, 2, (PATTERN,), device=tensor.device) * 2 - 1
    pattern = (sign * torch.pow(10.0, torch.rand(PATTERN, device=tensor.device) * 3 - 2)).to(tensor.dtype)
    repeated = pattern.repeat(-(-tensor.numel() // PATTERN))[: tensor.numel()]
    return tensor * repeated.view(tensor.shape)


def wide(tensor: torch.Tensor) -> torch.Tensor:
    """Magnitudes up to 1e4, whatever they were."""
    return tensor * (WIDEST / max(magnitude(tensor), 1e-30))


def far(tensor: torch.Tensor) -> torch.Tensor:
    """Magnitudes up to 3e7, of which half precision holds few; what holds no such numbers stays as it is."""
    if torch.finfo(tensor.dtype).max < FARTHEST:
        return tensor
    return tensor * (random.uniform(0.5, 1.0) * FARTHEST / max(magnitude(tensor), 1e-30))  # noqa: S311


def huge(tensor: torch.Tensor) -> torch.Tensor:
    """Magnitudes about 1e11, beyond 32-bit integers; cubes of these are finite in float."""
    return _of_magnitude(tensor, 10 ** random.uniform(10.5, 12))  # noqa: S311 - seeded with the draw


def hugest(tensor: torch.Tensor) -> torch.Tensor:
    """Magnitudes about 1e23, whose squares are infinite in float; of doubles 1e167."""
    exponent = random.uniform(22, 25) + (144 if tensor.dtype is torch.float64 else 0)  # noqa: S311 - seeded with the draw
    return _of_magnitude(tensor, 10**exponent)


def _of_magnitude(tensor: torch.Tensor, largest: float) -> torch.Tensor:
    """A tensor whose largest magnitude this is; what holds no such numbers stays as it is."""
    most = torch.finfo(tensor.dtype).max
    factor = largest / max(magnitude(tensor), largest / most)
    return tensor if most < largest or factor >= most else tensor * factor


def offset(tensor: torch.Tensor) -> torch.Tensor:
    """A mean of about two standard deviations: more would only show how a variance was summed."""
    sign = 1 if random.random() < 0.5 else -1  # noqa: S311 - seeded with the draw
    return tensor + sign * random.uniform(1.5, 3.0) * float(sampled_values(tensor).double().std())  # noqa: S311


def displaced(tensor: torch.Tensor) -> torch.Tensor:
    """A mean of `DISPLACED` standard deviations: a variance that is summed in one pass loses nearly all digits."""
    return tensor + DISPLACED * float(sampled_values(tensor).double().std())


def displaced_rows(tensor: torch.Tensor) -> torch.Tensor:
    """A mean of its own for each row, up to as many standard deviations."""
    rows = rows_of(tensor)
    own = torch.rand(rows.shape[0], 1, dtype=torch.float64, device=tensor.device)
    own = own if is_one_signed(tensor) else 2 * own - 1
    by = DISPLACED * float(sampled_values(tensor).double().std()) * own
    return (rows + by.to(tensor.dtype)).view(tensor.shape)


def with_outsized(tensor: torch.Tensor) -> torch.Tensor:
    """One element of an eighth of the rows a million times as large as a usual one, where the dtype holds that."""
    rows = rows_of(tensor).clone()
    chosen = torch.randperm(rows.shape[0], device=tensor.device)[: max(1, rows.shape[0] // 8)]
    places = torch.randint(0, rows.shape[1], chosen.shape, device=tensor.device)
    own = rows[chosen, places]
    rows[chosen, places] = OUTSIZED * own.abs().clamp_min(magnitude(tensor) / 4).copysign(own)
    return rows.view(tensor.shape)


def outsized(tensor: torch.Tensor, place: int) -> torch.Tensor:
    """One leading slice so large that next to it all others are nothing, and their squares with it."""
    largest = torch.finfo(tensor.dtype).max ** OF_EXPONENTS
    changed = tensor.clone()
    changed[place] = _of_magnitude(tensor[place], largest)
    return changed


def far_beyond(tensor: torch.Tensor) -> torch.Tensor:
    """Magnitudes about 1e11, none of them negative."""
    return huge(tensor.abs())


def blocks(tensor: torch.Tensor) -> torch.Tensor:
    """Half of the rows keep signs and range, but have a stretch of small values somewhere; a quarter are smooth."""
    rows = rows_of(tensor)
    count, size = rows.shape
    device = tensor.device
    start = torch.rand(count, 1, device=device) * size
    end = start + (0.125 + 0.375 * torch.rand(count, 1, device=device)) * size
    start[torch.rand(count, 1, device=device) < (0.5 if count > 1 else 0.0)] = size
    place = torch.arange(size, device=device)
    rows = smooth(rows)
    return torch.where((place >= start) & (place < end), rows * FAINT, rows).view(tensor.shape)


def spike(tensor: torch.Tensor) -> torch.Tensor:
    """One high and one low value somewhere: everything else is as the problem made it."""
    return _spiked(tensor, 1)


def spikes(tensor: torch.Tensor) -> torch.Tensor:
    """High and low values in some of the rows."""
    return _spiked(tensor, max(1, rows_of(tensor).shape[0] // 4))


def _spiked(tensor: torch.Tensor, pairs: int) -> torch.Tensor:
    """No two spikes are equal where the dtype can distinguish them: a choice among equals is not judged."""
    changed = tensor.clone().reshape(-1)
    places = torch.randint(0, changed.numel(), (2 * pairs,), device=tensor.device)
    height = min(WIDEST, SPIKE * magnitude(tensor))
    heights = torch.linspace(height, height / 2, pairs, device=tensor.device)
    changed[places] = torch.cat((heights, -heights)).to(tensor.dtype)
    return changed.view(tensor.shape)


def ties(tensor: torch.Tensor) -> torch.Tensor:
    """Few different values, rows (and now and then columns) that end with several of their largest value and have it
    nowhere else, and constant rows. Those hold a power of two, of which means are exact."""
    step = max(float(sampled_values(tensor).double().std()) / 2, 1e-30)
    rows = rows_of(tensor).div(step).round_().mul_(step)
    _end_with_largest(rows)
    chosen = torch.randperm(rows.shape[0], device=tensor.device)[: rows.shape[0] // 8]
    first = rows[chosen, :1].float()
    power = torch.exp2(torch.round(torch.log2(first.abs().clamp_min(1e-6)))).copysign(first)
    rows[chosen] = power.to(tensor.dtype)
    if random.random() < 0.5:  # noqa: S311 - seeded with the draw
        _end_with_largest(rows.t())
    return rows.view(tensor.shape)


def _end_with_largest(rows: torch.Tensor) -> None:
    """Let some rows end with their largest value, two times or more: where they do, they have it nowhere else."""
    count, size = rows.shape
    is_chosen = torch.rand(count, 1, device=rows.device) < (1 / 8 if count > 1 else 1 / 2)
    begin = size - torch.randint(2, MOST_AT_END + 1, (count, 1), device=rows.device)
    low, high = rows.aminmax(dim=-1, keepdim=True)
    is_end = torch.arange(size, device=rows.device) >= begin.clamp_min(size // 2)
    changed = torch.where(is_end, high, torch.where(rows == high, low, rows))
    rows.copy_(torch.where(is_chosen, changed, rows))


def ordered(tensor: torch.Tensor) -> torch.Tensor:
    """Some rows in ascending order, and as many in descending order; a single row in one of both."""
    rows = rows_of(tensor).clone()
    count = max(1, min(rows.shape[0], MOST_ORDERED // rows.shape[1]))
    chosen = torch.randperm(rows.shape[0])[:count].to(tensor.device)
    in_order = rows[chosen].sort(dim=-1).values
    start = int(random.random() < 0.5)  # noqa: S311 - seeded with the draw
    in_order[start::2] = in_order[start::2].flip(-1)
    rows[chosen] = in_order
    return rows.view(tensor.shape)


def not_finite(tensor: torch.Tensor, pairs: int = 1) -> torch.Tensor:
    """In each of some pairs of slices of the leading dimension up to three NaN, of all kinds of bits, in the one, and
    an infinity in the other."""
    if tensor.dim() == 0 or tensor.shape[0] < LEAST_SLICES:
        return tensor
    slices = tensor.reshape(tensor.shape[0], -1).clone()
    endless = math.inf if random.random() < 0.5 else -math.inf  # noqa: S311 - seeded with the draw
    chosen = torch.randperm(slices.shape[0])[: 2 * pairs].to(tensor.device)
    places = torch.randint(0, slices.shape[1], (chosen.numel(), NAN_KINDS), device=tensor.device)
    slices[chosen[::2, None], places[::2]] = math.nan
    slices[chosen[1::2], places[1::2, 0]] = endless
    return of_other_bits(slices.view(tensor.shape))


def often_not_finite(tensor: torch.Tensor) -> torch.Tensor:
    """The same in a quarter of the slices: which of them a result takes is the reference's choice."""
    return not_finite(tensor, max(1, tensor.shape[0] // 8) if tensor.dim() else 1)


def of_other_bits(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor whose NaN have the bits that processors give them, each as often: PyTorch's; with the sign that x86
    makes of 0/0; nothing but ones, as a GPU does."""
    is_nan = torch.isnan(tensor)
    if tensor.dtype not in BITS or not bool(is_nan.any()):
        return tensor
    whole = BITS[tensor.dtype]
    ends = torch.iinfo(whole)
    usual = int(torch.tensor(math.nan, dtype=tensor.dtype).view(whole))
    kinds = torch.tensor([usual, usual + ends.min, ends.max], dtype=whole, device=tensor.device)
    which = torch.arange(int(is_nan.sum()), device=tensor.device) + torch.randint(
        0, NAN_KINDS, (), device=tensor.device
    )
    changed = tensor.contiguous().view(whole).clone()
    changed[is_nan] = kinds[which % NAN_KINDS]
    return changed.view(tensor.dtype)


def as_it_is(tensor: torch.Tensor) -> torch.Tensor:
    """No change: for distributions that are about tensors of another kind."""
    return tensor


def one_value(tensor: torch.Tensor) -> torch.Tensor:
    """A value that occurs, everywhere: as an index or a label it is as good as any."""
    return torch.full_like(tensor, int(tensor.reshape(-1)[int(torch.randint(0, tensor.numel(), ()))]))


def other_places(tensor: torch.Tensor) -> torch.Tensor:
    """Few of the values, at random places."""
    flat = tensor.reshape(-1)
    kept = flat[torch.randint(0, flat.numel(), (FEW_WHOLE,), device=tensor.device)]
    return kept[torch.randint(0, FEW_WHOLE, (flat.numel(),), device=tensor.device)].view(tensor.shape)


def beyond(tensor: torch.Tensor) -> torch.Tensor:
    """Values far beyond those that occur, as the dtype permits: a kernel that reads only their lowest byte is wrong."""
    largest = max(1, int(tensor.abs().max()))
    factor = max(1, WIDEST_WHOLE[tensor.dtype] // (largest + 1))
    return tensor * factor + torch.randint(0, factor, tensor.shape, device=tensor.device).to(tensor.dtype)


def anywhere(tensor: torch.Tensor) -> torch.Tensor:
    """Values from all of the dtype's range: equal ones stay equal, in other tensors of the dtype too, and different
    ones different. The smallest becomes the dtype's smallest, the largest its largest. In a quarter of the rows all
    are negative, where the dtype has such numbers."""
    low, high = tensor.aminmax()
    info = torch.iinfo(tensor.dtype)
    changed = tensor * (ODD & info.max)  # overflows, and is one-to-one
    changed = torch.where(tensor == low, info.min, changed)
    rows = rows_of(torch.where(tensor == high, info.max, changed).to(tensor.dtype))
    if info.min < 0:
        is_negative = torch.rand(rows.shape[0], 1, device=tensor.device) < 1 / 4
        rows = torch.where(is_negative, rows | info.min, rows)
    return rows.view(tensor.shape)


def within(tensor: torch.Tensor, low: int, high: int, *, evenly: bool) -> torch.Tensor:
    """Whole numbers from a range: each as likely as any other, or small ones as likely as large ones. Both ends are
    among them."""
    shape, device = tensor.shape, tensor.device
    if evenly:
        changed = low + (torch.rand(shape, dtype=torch.float64, device=device) * (high - low + 1)).long()
        changed = changed.clamp(low, high)
    else:
        bits = torch.rand(shape, dtype=torch.float64, device=device) * high.bit_length()
        size = torch.exp2(bits).clamp(max=2.0**62).long().clamp(max=high)
        changed = torch.where(torch.rand(shape, device=device) < 1 / 2, -size, size).clamp(low) if low < 0 else size
    changed.view(-1)[torch.randperm(changed.numel(), device=device)[:2]] = torch.tensor([low, high], device=device)
    return changed.to(tensor.dtype)


def rare(tensor: torch.Tensor) -> torch.Tensor:
    """Rows of one code, which is one of two, and in some of them the other one at a single place."""
    kinds = torch.unique(sampled_values(tensor))
    pair = kinds[torch.randperm(kinds.numel()).to(kinds.device)[:2]]
    rows = rows_of(torch.empty_like(tensor))
    usual = torch.randint(0, 2, (rows.shape[0],), device=tensor.device)
    rows.copy_(pair[usual].unsqueeze(1).expand_as(rows))
    chosen = torch.randperm(rows.shape[0], device=tensor.device)[: (rows.shape[0] + 1) // 2]
    places = torch.randint(0, rows.shape[1], chosen.shape, device=tensor.device)
    rows[chosen, places] = pair[1 - usual[chosen]]
    return rows.view(tensor.shape)


def in_runs(tensor: torch.Tensor) -> torch.Tensor:
    """Rows of two codes that take turns, each for so long that runs halve: half of the row, a quarter, down to a lone
    one, in any order. In a quarter of the rows nearly all is one run, between two lone ones."""
    kinds = torch.unique(sampled_values(tensor)).to(tensor.dtype)
    pair = kinds[torch.randperm(kinds.numel()).to(kinds.device)[:2]]
    rows = rows_of(torch.empty_like(tensor))
    turn = torch.randint(0, 2, (rows.shape[0], 1), device=tensor.device)
    rows.copy_(pair[(_runs(rows.shape[0], rows.shape[1], tensor.device) + turn) % 2])
    return rows.view(tensor.shape)


def _runs(count: int, size: int, device: torch.device) -> torch.Tensor:
    """For each place of so many rows the number of the run that it is in."""
    halves = [size >> number for number in range(1, size.bit_length())]
    lengths = torch.tensor([*halves, size - sum(halves)], device=device)
    order = torch.rand(count, lengths.numel(), device=device).argsort(dim=1)
    ends = lengths[order].cumsum(dim=1)
    if count >= LEAST_SLICES <= size:
        ends[::LEAST_SLICES] = size
        ends[::LEAST_SLICES, 0], ends[::LEAST_SLICES, 1] = 1, size - 1
    place = torch.arange(size, device=device).expand(count, size)
    return torch.searchsorted(ends, place.contiguous(), right=True)


def any_code(tensor: torch.Tensor) -> torch.Tensor:
    """A value that occurs, everywhere: the least, the largest or any, each as often."""
    some = tensor.reshape(-1)[int(torch.randint(0, tensor.numel(), ()))]
    code = random.choice((some, tensor.min(), tensor.max()))  # noqa: S311 - seeded with the draw
    return torch.full_like(tensor, code.item())


def general(tensor: torch.Tensor) -> torch.Tensor:
    """General numbers in the place of a few kinds: between them and zero, which stays; below it where it is the
    largest, as in a mask that is added."""
    share = torch.rand(tensor.shape, device=tensor.device).to(tensor.dtype)
    if float(tensor.max()) == 0:
        return torch.where(tensor == 0, -4 * share, tensor)
    return tensor * (1 - 0.75 * share)


def other_ones(tensor: torch.Tensor) -> torch.Tensor:
    """Other values of the same sign in the place of one that is not zero."""
    return tensor * (torch.rand(tensor.shape, device=tensor.device) + 0.6).to(tensor.dtype)


def other_zeros(tensor: torch.Tensor) -> torch.Tensor:
    """Small numbers in the place of zeros."""
    return torch.where(tensor == 0, (torch.rand(tensor.shape, device=tensor.device) - 0.5).to(tensor.dtype), tensor)


def planted(tensor: torch.Tensor, numbers: Sequence[float]) -> torch.Tensor:
    """A tensor with numbers in the place of some elements, at least one."""
    chosen = torch.rand(tensor.shape, device=tensor.device) < PLANTED
    chosen.view(-1)[int(torch.randint(0, chosen.numel(), ()))] = True
    which = torch.randint(0, len(numbers), tensor.shape, device=tensor.device)
    return torch.where(chosen, torch.tensor(numbers, dtype=tensor.dtype, device=tensor.device)[which], tensor)


SLOWEST, FASTEST = 3e-3, 0.3
"""Radians from an element to the next, in rows that are smooth."""
LEAST_SMOOTH = 32
"""Elements of a row from which on some are smooth."""
OF_ITS_OWN = 1e-3
"""What is left of a smooth row's own values: no two become equal."""
TAIL, SPREAD = 5.0, 0.2
"""Mean of values from a tail, in standard deviations of the draw, and their own standard deviation."""
NEAR = 1 / 64
"""Distance of a draw's ends from whole numbers, over its range, up to which these are the ends of what may be drawn."""
OF_EXPONENTS = 3 / 4
"""Share of a dtype's exponents that are drawn: 1e30 stands for more than any other number in many a kernel."""
STRUCTURED = {torch.int16: 4, torch.int32: 12, torch.int64: 12}
"""Lowest bits of whole numbers that are zero, where these have a structure."""


def smooth(rows: torch.Tensor) -> torch.Tensor:
    """Rows, some of which follow a wave between their smallest and their largest value: neighbours are much alike, as
    in a photograph or a recording."""
    if rows.shape[1] < LEAST_SMOOTH:
        return rows
    chosen = torch.randperm(rows.shape[0], device=rows.device)[: rows.shape[0] // 4]
    own = rows[chosen] if rows.element_size() > 2 else rows[chosen].float()
    start, speed = torch.rand(2, chosen.numel(), 1, device=rows.device)
    place = torch.arange(rows.shape[1], device=rows.device)
    wave = 0.5 + 0.5 * torch.sin(2 * math.pi * start + place * (SLOWEST * (FASTEST / SLOWEST) ** speed))
    low, high = own.aminmax(dim=-1, keepdim=True)
    other = low + (high - low) * wave
    changed = rows.clone()
    changed[chosen] = (other + OF_ITS_OWN * (own - other)).to(rows.dtype)
    return changed


def to_its_ends(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor whose smallest and largest values are whole numbers nearly, with these among its values: probabilities
    of exactly zero and one."""
    low, high = (float(end) for end in tensor.aminmax())
    ends = [
        float(end)
        for end, own in ((math.floor(low), low), (math.ceil(high), high))
        if abs(end - own) <= NEAR * (high - low)
    ]
    return planted(tensor, ends) if ends else tensor


def all_magnitudes(tensor: torch.Tensor) -> torch.Tensor:
    """Signs and fractions as they are, exponents from most of the dtype's range; zeros stay zeros."""
    widest = int(math.log2(torch.finfo(tensor.dtype).max) * OF_EXPONENTS)
    fraction, _ = torch.frexp(tensor.double())
    exponent = torch.randint(-widest, widest, tensor.shape, device=tensor.device)
    return torch.ldexp(fraction, exponent).to(tensor.dtype)


def adjacent(tensor: torch.Tensor) -> torch.Tensor:
    """The numbers from one on that are next to each other in the dtype, in the order that each row has: what was equal
    in a row stays so, and nothing else is equal. Where there are not as many, the tensor as it is."""
    whole = BITS.get(tensor.dtype)
    if whole is None:
        return tensor
    first, end = (int(torch.tensor(one, dtype=tensor.dtype).view(whole)) for one in (1.0, math.inf))
    rows = rows_of(tensor)
    if rows.numel() > end - first:
        return tensor
    ordered, places = rows.sort(dim=-1)
    rank = torch.zeros_like(places)
    rank[:, 1:] = (ordered[:, 1:] != ordered[:, :-1]).cumsum(dim=1)
    rank += torch.randperm(rows.shape[0]).to(tensor.device).unsqueeze(1) * rows.shape[1] + first
    return torch.empty_like(rank).scatter_(1, places, rank).to(whole).view(tensor.dtype).view(tensor.shape)


def subnormal(tensor: torch.Tensor) -> torch.Tensor:
    """Half of the numbers, chosen at random, below the smallest normal one: down to the last that is not zero."""
    info = torch.finfo(tensor.dtype)
    fraction, _ = torch.frexp(tensor.double())
    share = torch.exp2(torch.rand_like(fraction) * math.log2(info.eps))
    chosen = torch.rand(tensor.shape, device=tensor.device) < 1 / 2
    return torch.where(chosen, (fraction * share * info.tiny).to(tensor.dtype), tensor)


def whole_and_wide(tensor: torch.Tensor) -> torch.Tensor:
    """Whole numbers of magnitudes up to 1e4: as floats they are what they are, and no rounding explains an error."""
    return wide(tensor).round()


def upper_tail(tensor: torch.Tensor) -> torch.Tensor:
    """Values several standard deviations above the mean, all of them."""
    values = sampled_values(tensor).double()
    mean, deviation = float(values.mean()), float(values.std())
    return (tensor - mean) * SPREAD + (mean + TAIL * deviation)


def lower_tail(tensor: torch.Tensor) -> torch.Tensor:
    """Values several standard deviations below the mean, all of them."""
    return -upper_tail(-tensor)


def large_and_close(tensor: torch.Tensor) -> torch.Tensor:
    """Whole numbers as far from each other as they were, about half of their dtype's largest: a float is too short."""
    bits = torch.iinfo(tensor.dtype).bits
    return tensor + (1 << (bits - 2)) if tensor.dtype in STRUCTURED else tensor


def multiples(tensor: torch.Tensor) -> torch.Tensor:
    """Whole numbers whose lowest bits are zero, as those of addresses and of packed fields: equal ones stay equal."""
    return tensor * (1 << STRUCTURED[tensor.dtype]) if tensor.dtype in STRUCTURED else tensor


LEAST_ALIKE = 1 << 16
"""Places along a dimension from which on a narrow counter runs over."""
AS_DRAWN = 1 / 16
"""Of such a dimension, what stays as it was at its beginning."""


def alike(tensor: torch.Tensor) -> torch.Tensor:
    """Slices that are the same along a dimension that 16 bits do not count, but for the first ones; a tensor without
    one as it is."""
    if tensor.dim() == 0 or max(tensor.shape) <= LEAST_ALIKE:
        return tensor
    changed = tensor.clone().movedim(tensor.shape.index(max(tensor.shape)), 0)
    first = round(changed.shape[0] * AS_DRAWN)
    changed[first:] = changed[first].clone()
    return changed.movedim(0, tensor.shape.index(max(tensor.shape))).contiguous()


PERIOD = 8
"""Rows of which some are degenerate, before the kinds repeat: the same rows of every tensor that has as many."""
RUNS_OF_TWO = 6
"""The one of these that consists of long runs of its least and its largest value."""


def _half_of_each(rows: torch.Tensor) -> torch.Tensor:
    """Which places of each row are in its second half, turned by a random number of places: of a row in which nearly
    all values are one, a variance has few digits."""
    size = rows.shape[1]
    turn = (torch.rand(rows.shape[0], 1, device=rows.device) * size).long()
    return (torch.arange(size, device=rows.device) + turn) % size >= size // 2


def degenerate(tensor: torch.Tensor) -> torch.Tensor:
    """Rows of zeros, of zeros up to a random place, of one value, of long runs of their ends and of one sign, next to
    rows as they were; where there are more dimensions, a leading slice of zeros too, and of another one a slice of
    zeros and one of one value."""
    rows = padded(tensor).view(rows_of(tensor).shape).clone()
    if rows.shape[0] > 1:
        rows[2::PERIOD] = rows[2::PERIOD, :1].clone()
    if rows.shape[0] > RUNS_OF_TWO and rows.shape[1] > 1:
        few = rows[RUNS_OF_TWO::PERIOD]
        ends = torch.stack(tuple(few.aminmax(dim=1)), dim=1)  # which are apart: of others a variance has no digits
        few.copy_(ends.gather(1, _half_of_each(few).long()))
    if not is_one_signed(tensor):
        rows[3::PERIOD] = rows[3::PERIOD].abs()
        rows[5::PERIOD] = -rows[5::PERIOD].abs()
    changed = rows.view(tensor.shape)
    if tensor.dim() > 2 and min(tensor.shape[:2]) >= LEAST_SLICES:
        changed[1, 1] = changed[1, 2].reshape(-1)[0].clone()
    return changed


def padded(tensor: torch.Tensor) -> torch.Tensor:
    """The same of zeros only."""
    rows = rows_of(tensor).clone()
    count, size = rows.shape
    place = torch.arange(size, device=tensor.device)
    few = rows[1::PERIOD] if count > 1 else rows
    end = (torch.rand(few.shape[0], 1, device=tensor.device) * (size - 1 if count > 1 else size / 4)).long() + 1
    few.copy_(torch.where(place < end, 0, few))
    if count > 1:
        rows[0::PERIOD] = 0
    changed = rows.view(tensor.shape)
    if tensor.dim() > 2 and min(tensor.shape[:2]) >= LEAST_SLICES:
        changed[0] = 0
        changed[1, 0] = 0
    return changed


def minus_infinity(tensor: torch.Tensor) -> torch.Tensor:
    """Rows of minus infinity, and rows that begin with it up to a random place, as masked scores do."""
    rows = rows_of(tensor)
    count, size = rows.shape
    end = (torch.rand(count, 1, device=tensor.device) * size).long()
    row = torch.arange(count, device=tensor.device).unsqueeze(1) % PERIOD
    end = torch.where(row == 0, size if count > 1 else end, torch.where(row < PERIOD // 2, end, 0))
    return torch.where(torch.arange(size, device=tensor.device) < end, -math.inf, rows).view(tensor.shape)


def row_of_nan(tensor: torch.Tensor) -> torch.Tensor:
    """A row of NaN, next to rows as they were but for the bits of their NaN."""
    rows = rows_of(tensor).clone()
    rows[int(torch.randint(0, rows.shape[0], ()))] = math.nan
    return of_other_bits(rows.view(tensor.shape))


def tiny(tensor: torch.Tensor) -> torch.Tensor:
    """A thousandth, and nothing below zero unless all was."""
    return (tensor if is_one_signed(tensor) else tensor.abs()) * TINY


def minute(tensor: torch.Tensor) -> torch.Tensor:
    """Magnitudes about 1e-13, whose squares are numbers still, and nothing above zero unless all was."""
    return _of_minute(tensor if is_one_signed(tensor) else -tensor.abs(), 13)


def minutest(tensor: torch.Tensor) -> torch.Tensor:
    """Magnitudes about 1e-24, whose squares are zero in float; of doubles 1e-168."""
    return _of_minute(tensor, 168 if tensor.dtype is torch.float64 else 24)


def _of_minute(tensor: torch.Tensor, exponent: float) -> torch.Tensor:
    """A tensor whose largest magnitude is about ten to the power of minus this; what holds no such numbers stays."""
    largest = 10 ** -(exponent + random.uniform(-1, 1))  # noqa: S311 - seeded with the draw
    return tensor if torch.finfo(tensor.dtype).tiny > largest else _of_magnitude(tensor, largest)


def is_one_signed(tensor: torch.Tensor) -> bool:
    """Whether no two numbers have different signs."""
    low, high = tensor.aminmax()
    return bool(low >= 0) or bool(high <= 0)
