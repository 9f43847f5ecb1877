"""Inputs for timed calls that no candidate has seen, nor can work out from what it has seen.

Drawing from the problem itself is the real thing, and small inputs are drawn for every call. Large ones would take
longer to draw than to compute with (16.8 million normals: 110 ms on two cores), so most calls get a *mixture*: element
`i` is `a[i] + w[i] * (b[i] - a[i])`, where `a` and `b` are windows at random places of two draws of a pool, and `w` is
one of a pool of weights. That takes 8 ms, no longer than to rescale one draw. Values stay within the draws' range, and
neither products, prefix sums nor sorted orders of earlier inputs predict those of a new one: every call pairs other
elements with other weights.

Windows are right only where any place could hold any value. A tensor with a structure (triangular, symmetric, sorted,
normalised rows, whole numbers, masks) is taken from a draw as it is. And some calls, which a candidate cannot predict,
are on draws that were made for them alone: a kernel that is slower there, or wrong, remembers.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch

from workers.ipc.tensors import overlap, put, relaid
from workers.referee.inputs.uniformity import LEAST_ROWS, LOOKED_AT, is_even
from workers.referee.inputs.value_kinds import is_continuous

DRAWN_BYTES = 1 << 20
"""Inputs up to this size are drawn for every call."""
DRAWN_WITH_STRUCTURE_BYTES = 16 << 20
"""The same where a good part of them cannot be mixed, and would otherwise be one of a few: drawing takes 10 ms."""
HEAVIEST = 0.25
"""Largest weight of a mixture: normals keep 0.89 of their spread on average."""
MOST_WEIGHTS = 1 << 21
FRESH_SHARE = 1 / 6
FRESH_SHARE_STRUCTURED = 1 / 3
"""The same where some tensor cannot be mixed, and would otherwise be one of a few."""
COMMON = 0.02
"""Share of one value, or of elements that are the same in two draws."""

Tensors = list[torch.Tensor]
Place = tuple[int, int, int, int, int]
"""A draw and where a window of it begins, the same again, and where the weights begin."""


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """Values for one call."""

    tensors: Tensors
    """The referee's own copy, good until the next values are asked for."""
    draw: int
    """Number of the draw, of the values' pool, that gave everything that is no mixable tensor."""
    fresh: bool
    """Whether they were drawn for this call."""


@dataclass(frozen=True, kw_only=True)
class Mixture:
    """How to make the values of one call from the pools."""

    draw: int
    places: tuple[Place | None, ...]
    """For each tensor that can be mixed, where from."""


class FreshValues:
    """The stream of values for one input set of one candidate."""

    def __init__(
        self,
        pool: Sequence[Sequence[torch.Tensor]],
        draw: Callable[[], Sequence[torch.Tensor]],
        generator: random.Random | None = None,
        *,
        known: list[bool] | None = None,
    ) -> None:
        """`pool` holds draws of the problem's own; `draw` makes another; `known`: what `mixable` said of such draws."""
        self._draw = draw
        self._generator = generator or random.SystemRandom()
        self.pool = [list(tensors) for tensors in pool]
        first = self.pool[0]
        size = sum(tensor.nbytes for tensor in first)
        mixes = [False] * len(first) if size <= DRAWN_BYTES else known or mixable(self.pool)
        structured = sum(tensor.nbytes for tensor, one in zip(first, mixes, strict=True) if not one) > DRAWN_BYTES
        self.mixable = [False] * len(first) if structured and size <= DRAWN_WITH_STRUCTURE_BYTES else mixes
        self._weights = _weights([tensor for tensor, one in zip(first, self.mixable, strict=True) if one])
        self._own: list[torch.Tensor | None] | None = None
        """Memory for what is mixed."""
        self._share = FRESH_SHARE_STRUCTURED if structured else FRESH_SHARE

    @property
    def always_drawn(self) -> bool:
        """Whether every call gets a draw of its own: inputs are small, or nothing in them can be mixed."""
        return not any(self.mixable)

    def next(self, *, fresh: bool | None = None) -> Inputs:
        """Values for one call; drawn for it where `fresh` says so, or at random."""
        if self.always_drawn or (self._generator.random() < self._share if fresh is None else fresh):
            return self.drawn()
        mixture = self.mixture()
        if self._own is None:  # a GPU's calls have memory of their own
            first = zip(self.pool[0], self.mixable, strict=True)
            self._own = [torch.empty_like(tensor) if one else None for tensor, one in first]
        mixed = list(zip(self._own, self.pool[mixture.draw], strict=True))
        tensors = [plain if own is None else own for own, plain in mixed]
        self.fill(mixture, tensors)
        return Inputs(tensors=tensors, draw=mixture.draw, fresh=False)

    def drawn(self) -> Inputs:
        """Values drawn for one call. What cannot be mixed is taken over into the pool, in place of an older draw's."""
        tensors = list(self._draw())
        place = self._generator.randrange(len(self.pool))
        if self.always_drawn:
            self.pool[place] = tensors
        else:
            kept = self.pool[place]
            self.pool[place] = [old if one else new for old, new, one in zip(kept, tensors, self.mixable, strict=True)]
        return Inputs(tensors=tensors, draw=place, fresh=True)

    def separate(self) -> Tensors:
        """Values as those of timed calls, in memory of their own; the stream is left as it is."""
        if self.always_drawn or self._generator.random() < self._share:
            return list(self._draw())
        return self.tensors(self.mixture())

    def mixture(self) -> Mixture:
        """Another way to mix."""
        pick = self._generator.randrange
        places: list[Place | None] = []
        for tensor, one in zip(self.pool[0], self.mixable, strict=True):
            if not one:
                places.append(None)
                continue
            count, draws = tensor.numel(), len(self.pool)
            weights = self._weights[tensor.dtype].numel()
            places.append((pick(draws), pick(count), pick(draws), pick(count), pick(weights)))
        return Mixture(draw=pick(len(self.pool)), places=tuple(places))

    def fill(self, mixture: Mixture, targets: Sequence[torch.Tensor]) -> None:
        """Write a mixture's values; tensors that cannot be mixed are copied from its draw."""
        for index, (target, place) in enumerate(zip(targets, mixture.places, strict=True)):
            if place is not None:
                self._mix(index, place, target.view(-1))
            elif target.data_ptr() != self.pool[mixture.draw][index].data_ptr():
                put(target, self.pool[mixture.draw][index])

    def tensors(self, mixture: Mixture) -> Tensors:
        """A mixture's values in memory of their own."""
        plain = self.pool[mixture.draw]
        laid = zip(relaid(plain, plain), plain, self.mixable, strict=True)
        found = [torch.empty_like(old) if one or copy is old else copy for copy, old, one in laid]
        self.fill(mixture, found)
        return found

    def _mix(self, index: int, place: Place, out: torch.Tensor) -> None:
        one, first, other, second, third = place
        bases = self.pool[one][index].view(-1), self.pool[other][index].view(-1), self._weights[out.dtype]
        sizes = (out.numel(), out.numel(), bases[2].numel())
        for at, starts, count in _spans(out.numel(), (first, second, third), sizes):
            windows = (base[start : start + count] for base, start in zip(bases, starts, strict=True))
            torch.lerp(*windows, out=out[at : at + count])


def mixable(pool: Sequence[Sequence[torch.Tensor]]) -> list[bool]:
    """For each tensor whether any place of it could hold any of its values, as far as draws show."""
    first = pool[0]
    return [
        _mixes([tensors[index] for tensors in pool])
        and not any(overlap(one, other) for place, other in enumerate(first) if place != index)
        for index, one in enumerate(first)
    ]


def _mixes(draws: Sequence[torch.Tensor]) -> bool:
    first, last = draws[0], draws[-1]
    if not is_continuous(first) or first.dtype not in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        return False
    if not first.is_contiguous() or first.numel() < 2 * LEAST_ROWS:
        return False
    sample, other = (draw.reshape(-1)[: LOOKED_AT * LOOKED_AT].double() for draw in (first, last))
    if not bool(torch.isfinite(sample).all()) or float(sample.std()) == 0.0:
        return False
    alike = float((sample == other).double().mean()) > COMMON
    if len(draws) > 1 and (alike or _same_total(draws, float(sample.std()))):
        return False
    if float((sample == sample.median()).double().mean()) > COMMON or float((sample == 0).double().mean()) > COMMON:
        return False
    return is_even(first)


def _same_total(draws: Sequence[torch.Tensor], spread: float) -> bool:
    """Whether two draws have the same sum, or sum of squares, as independent elements never have."""
    sums = [float(draw.sum(dtype=torch.float64)) for draw in (draws[0], draws[-1])]
    norms = [float(torch.linalg.vector_norm(draw, dtype=torch.float64)) for draw in (draws[0], draws[-1])]
    count = draws[0].numel()
    return abs(sums[0] - sums[1]) < 5e-3 * spread * count**0.5 or abs(norms[0] - norms[1]) < 1e-9 * norms[0]


def _weights(tensors: Sequence[torch.Tensor]) -> dict[torch.dtype, torch.Tensor]:
    """A pool of weights for each dtype."""
    found: dict[torch.dtype, torch.Tensor] = {}
    for tensor in tensors:
        count = min(tensor.numel(), MOST_WEIGHTS) + 4099
        if tensor.dtype not in found or found[tensor.dtype].numel() < count:
            found[tensor.dtype] = (torch.rand(count, device=tensor.device) * HEAVIEST).to(tensor.dtype)
    return found


def _spans(
    count: int, starts: tuple[int, int, int], sizes: tuple[int, int, int]
) -> Iterator[tuple[int, list[int], int]]:
    """Stretches of `count` elements that are contiguous in both windows and the weights, which all wrap around."""
    at = 0
    while at < count:
        places = [(start + at) % size for start, size in zip(starts, sizes, strict=True)]
        length = min(count - at, *(size - place for place, size in zip(places, sizes, strict=True)))
        yield at, places, length
        at += length
