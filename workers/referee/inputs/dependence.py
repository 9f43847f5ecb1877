"""Tensors that follow from one another: a mask and lengths, offsets and segments, a permutation and its inverse.

A caller passes both, and a kernel may read either. So none of them changes alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from workers.referee.inputs.index_structure import INDEX_DTYPES
from workers.referee.inputs.unvarying import derivations
from workers.referee.inputs.value_structure import prefix_kinds, prefixes

MOST_NUMBERS = 1 << 16
"""Whole numbers of a tensor up to which it is looked at."""
Derived = Callable[[torch.Tensor, torch.Tensor], torch.Tensor | None]
"""What a tensor follows by from its source: it takes the source and a tensor of the right type and shape."""


def dependent(tensors: Sequence[torch.Tensor]) -> dict[int, tuple[int, Derived]]:
    """The places of tensors that follow from another one, each with the place of its source and how it follows."""
    found = dict[int, tuple[int, Derived]]()
    whole = [place for place, one in enumerate(tensors) if _may_be_source(one)]
    for source in whole:
        if source in found:
            continue
        numbers = tensors[source]
        sources = {one for one, _ in found.values()}
        if len(whole) > 1:
            vectors = [tensors[place] for place in whole]
            for index, derive in derivations(vectors, whole.index(source)).items():
                if whole[index] not in found and whole[index] not in sources:
                    found[whole[index]] = (source, _as_vector(derive))
        for place, other in enumerate(tensors):
            kinds = prefix_kinds(other, numbers) if place not in found else None
            if kinds is not None:
                found[place] = (source, _as_mask(kinds))
    return found


def together(tensors: Sequence[torch.Tensor]) -> frozenset[int]:
    """The places of tensors that follow from another one, and of those that they follow from."""
    found = dependent(tensors)
    return frozenset(found) | frozenset(source for source, _ in found.values())


def refitted(tensors: Sequence[torch.Tensor], changed: Sequence[torch.Tensor]) -> list[torch.Tensor] | None:
    """Changed tensors of which those follow from one another that did before; None where they cannot."""
    fitted = list(changed)
    for place, (source, derive) in dependent(tensors).items():
        if changed[place] is tensors[place] and changed[source] is tensors[source]:
            continue
        value = derive(changed[source], changed[place])
        if value is None or value.shape != changed[place].shape:
            return None
        fitted[place] = value.to(changed[place].dtype)
    return fitted


def _may_be_source(tensor: torch.Tensor) -> bool:
    """Whether a tensor is a vector of whole numbers that are not all the same."""
    if tensor.dtype not in INDEX_DTYPES or tensor.dim() != 1 or not 2 < tensor.numel() <= MOST_NUMBERS:
        return False
    return bool((tensor != tensor[0]).any())


def _as_vector(derive: Callable[[torch.Tensor], torch.Tensor | None]) -> Derived:
    return lambda source, _: derive(source)


def _as_mask(kinds: tuple[Any, Any]) -> Derived:
    return lambda source, like: prefixes(like, source, kinds)
