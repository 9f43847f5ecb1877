"""Input sets of a list of shapes: which entries are announced and timed, held out, or refused."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torch._subclasses.fake_tensor import FakeTensorMode

from services.domain.shape_lists import MOST_DRAWN, ShapeEntry, sampled
from workers.ipc.tensors import flatten

COPIES = 12
"""Inputs of a call that one process holds at a time, about: draws of its own, doubles, outputs and slots."""
SHOWN = 5
"""Refused entries that a note names."""
Source = Callable[[], Any]


@dataclass(frozen=True, kw_only=True)
class ListedShapes:
    """What became of a list of shapes."""

    announced: tuple[tuple[str, Source], ...] = ()
    """Names and sources of the entries that candidates are judged and timed on."""
    others: tuple[Source, ...] = ()
    """Some of the other entries, drawn anew by each referee: held out."""
    notes: tuple[str, ...] = ()
    """Notes for the report: the plan of a sample, duplicates, refused entries."""


def arranged(
    listed: Sequence[ShapeEntry],
    get_inputs: Callable[..., Any],
    memory_bytes: int | None,
    named: Sequence[str] = (),
    *,
    seed: int,
) -> ListedShapes:
    """The plan for a list of shapes. `memory_bytes` bounds a process; entries that the objective names, in `named`, are
    announced in any case. The others are drawn under `seed`."""
    distinct = list(dict.fromkeys(listed))
    usable, sizes, refused = list[ShapeEntry](), list[int](), list[str]()
    for entry in distinct:
        source = source_of(entry, get_inputs)
        try:
            size = _bytes(source)
        except Exception as error:  # noqa: BLE001 - untrusted code may raise anything
            refused.append(f"{entry.name} (get_inputs raised {type(error).__name__}: {str(error)[:150]})")
            continue
        if memory_bytes is not None and size * COPIES > memory_bytes:
            refused.append(f"{entry.name} (inputs of {_mebibytes(size)}; a process has {_mebibytes(memory_bytes)})")
            continue
        usable.append(entry)
        sizes.append(size)
    kept = [position for position, entry in enumerate(usable) if entry.name in named]
    chosen = sampled(sizes, kept)
    rest = [entry for position, entry in enumerate(usable) if position not in set(chosen)]
    drawn = random.Random(seed).sample(rest, min(MOST_DRAWN, len(rest)))  # noqa: S311 - the seed is secret
    return ListedShapes(
        announced=tuple((usable[position].name, source_of(usable[position], get_inputs)) for position in chosen),
        others=tuple(source_of(entry, get_inputs) for entry in drawn),
        notes=tuple(_notes(len(listed) - len(distinct), refused, len(usable), len(chosen), len(drawn))),
    )


def source_of(entry: ShapeEntry, get_inputs: Callable[..., Any]) -> Source:
    """The function without arguments that draws an entry's inputs, under the entry's name."""

    def source() -> Any:
        return get_inputs(*map(_value, entry.arguments), **{name: _value(one) for name, one in entry.keywords})

    source.__name__ = entry.name
    return source


def _value(argument: Any) -> Any:
    return list(argument) if isinstance(argument, tuple) else argument


def _bytes(source: Source) -> int:
    """Size of an entry's tensors: without making them, where the problem's code permits that."""
    try:
        with FakeTensorMode():
            tensors = flatten(list(source()))
    except Exception:  # noqa: BLE001 - it may look at values, which such tensors do not have
        tensors = flatten(list(source()))
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def _notes(doubles: int, refused: Sequence[str], usable: int, chosen: int, drawn: int) -> list[str]:
    notes = []
    if doubles:
        notes.append(
            f"SHAPES: {doubles} of its entries {'is a duplicate' if doubles == 1 else 'are duplicates'}, left out"
        )
    if refused:
        more = f"; and {len(refused) - SHOWN} more" if len(refused) > SHOWN else ""
        notes.append(f"SHAPES: {len(refused)} refused, the rest is used: {'; '.join(refused[:SHOWN])}{more}")
    if chosen < usable:
        notes.append(
            f"SHAPES: {chosen} of {usable} shapes are announced and timed, evenly by rank of size with the smallest "
            f"and the largest; {drawn} of the others, drawn by the referee, are held out"
        )
    return notes


def _mebibytes(size: int) -> str:
    return f"{size / 2**30:.1f} GiB" if size >= 1 << 30 else f"{size / 2**20:.0f} MiB"
