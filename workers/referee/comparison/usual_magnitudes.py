"""How large outputs of few elements usually are.

What a sum is made of cancels more in some draws than in others: a sum of half a million normal numbers is about 720,
and below 3 once in 300 draws. Errors are those of the terms, whatever is left of them. Where many elements are judged
together, such draws average out; where there are few, errors are measured against the output of several draws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from workers.ipc.tensors import flatten
from workers.referee.comparison.block_errors import LEAST_BAND
from workers.referee.errors import Refused
from workers.referee.inputs.distributions import rebuilt
from workers.referee.inputs.float8 import narrowed, widened
from workers.referee.inputs.value_kinds import is_continuous
from workers.referee.inputs.value_structure import structured

FEW = LEAST_BAND
"""Elements of an output below which one draw does not show how large it is."""
DRAWS = 8
PIECES = 1 << 16
"""In how many pieces of neighbours larger tensors are drawn again: element by element took twelve times as long."""
Slots = tuple[float, ...]
"""A magnitude for each element of an output."""


def are_few(output: torch.Tensor) -> bool:
    """Whether an output has so few elements that what is left of its terms is a matter of chance."""
    return output.is_floating_point() and 0 < output.numel() < FEW and output.element_size() > 1


def usual_magnitudes(
    arguments: list[Any], outputs: Sequence[torch.Tensor], run: Callable[[list[Any]], Sequence[torch.Tensor]]
) -> list[Slots]:
    """Root mean square of each element over `DRAWS` draws like the one at hand, and that one itself; nothing for
    outputs of many elements.

    `run` is the reference; draws that it refuses, or of which it makes something not finite or of another shape, do not
    count."""
    if not any(map(are_few, outputs)):
        return [()] * len(outputs)
    squares = [_squares(output) for output in outputs]
    count = 1
    for _ in range(DRAWS):
        try:
            made = run(resampled(arguments))
        except Refused:
            break
        if [one.shape for one in made] == [one.shape for one in outputs]:
            squares = [known + _squares(one) for known, one in zip(squares, made, strict=True)]
            count += 1
    if count == 1:
        return [()] * len(outputs)
    return [tuple((known / count).sqrt().tolist()) for known in squares]


def resampled(arguments: list[Any]) -> list[Any]:
    """Arguments of the same kind: the values at hand, drawn again with replacement, each tensor keeping its structure.
    Tensors of one size are drawn alike, so that what belongs together stays together."""
    drawn: dict[int, torch.Tensor] = {}
    tensors = flatten(arguments)
    found = list(tensors)
    for index, tensor in enumerate(tensors):
        wide = widened(tensor)
        if not is_continuous(wide) or wide.is_complex():
            continue
        if wide.numel() not in drawn:
            count = min(wide.numel(), PIECES)
            drawn[wide.numel()] = torch.randint(count, (count,), device=wide.device)
        again = structured(wide, _of_pieces(wide, drawn[wide.numel()]))
        found[index] = tensor if again is wide else narrowed(again, tensor.dtype)
    return list(rebuilt(arguments, found))


def _of_pieces(tensor: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """A tensor made of as many pieces of itself as there are places; what is left over at its end stays."""
    flat, count = tensor.reshape(-1), places.numel()
    whole = flat.numel() // count * count
    drawn = torch.empty_like(flat)
    torch.index_select(flat[:whole].view(count, -1), 0, places, out=drawn[:whole].view(count, -1))
    drawn[whole:] = flat[whole:]
    return drawn.reshape(tensor.shape)


def _squares(output: torch.Tensor) -> torch.Tensor:
    """Of each of few elements; 0 where it is not finite."""
    if not are_few(output):
        return torch.zeros(0, dtype=torch.float64)
    return output.double().square().reshape(-1).cpu().nan_to_num(0.0, 0.0, 0.0)
