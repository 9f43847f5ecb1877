"""What a container holds is read by the methods of `tuple`, `list` and `dict`, whatever its own class says."""

import dataclasses
from collections import OrderedDict, namedtuple
from typing import Any

import pytest
import torch

from workers.ipc.tensors import flatten, mapped, structure

HELD, TOLD = torch.ones(3), torch.zeros(3)
Pair = namedtuple("Pair", ["low", "high"])


class ToldTuple(tuple[Any, ...]):  # noqa: SLOT001
    def __iter__(self) -> Any:
        return iter([TOLD])


class ToldList(list[Any]):
    def __iter__(self) -> Any:
        return iter([TOLD])


class ToldDict(dict[str, Any]):
    def items(self) -> Any:
        return [("a", TOLD)]


class ToldPair(Pair):
    @property
    def low(self) -> Any:
        return TOLD


@dataclasses.dataclass
class Held:
    a: Any


@dataclasses.dataclass(slots=True, frozen=True)
class HeldInSlots:
    a: Any


@dataclasses.dataclass
class HeldByDefault:
    a: Any = dataclasses.field(init=False, default=HELD)


class Told(Held):
    def __getattribute__(self, name: str) -> Any:
        return TOLD if name == "a" else super().__getattribute__(name)


class Computed(Held):
    @property
    def a(self) -> Any:
        return TOLD

    @a.setter
    def a(self, _value: Any) -> None: ...


@pytest.mark.parametrize(
    "value",
    [
        ToldTuple([HELD]), ToldList([HELD]), ToldDict(a=HELD), ToldPair(HELD, 1), Held(HELD), HeldInSlots(HELD),
        Told(HELD), HeldByDefault(), OrderedDict(a=HELD), Pair(HELD, 1),
    ],
)  # fmt: skip
def test_what_is_held_counts_not_what_a_class_tells(value: Any) -> None:
    assert [id(one) for one in flatten(value)] == [id(HELD)]
    assert torch.equal(flatten(mapped(value, lambda tensor: tensor + 1.0))[0], HELD + 1.0)


def test_a_field_that_is_computed_when_it_is_read_is_none() -> None:
    found: list[torch.Tensor] = []
    assert "other" in structure(Computed(HELD), found)
    assert found == []


def test_a_property_in_place_of_names_makes_no_named_tuple() -> None:
    class Forged(tuple[Any, ...]):  # noqa: SLOT001
        @property
        def _fields(self) -> tuple[str, ...]:
            raise AssertionError("it was asked")

    assert structure(Forged([1]), []) == {"tuple": [1]}
