from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import pytest
import torch

from workers.ipc.tensors import decode, encode, flatten, mapped, structure
from workers.referee.comparison.output_structure import ContractError, places

Pair = namedtuple("Pair", ["low", "high"])
Other = namedtuple("Other", ["high", "low"])


@dataclass(frozen=True)
class Record:
    values: torch.Tensor
    count: int


A, B = torch.zeros(2), torch.ones(3)


def order(actual: Any, expected: Any) -> list[int]:
    return places(structure(actual, []), structure(expected, []))


def test_the_order_of_keys_does_not_matter_and_tensors_are_found_by_key() -> None:
    assert order({"b": B, "a": A}, {"a": A, "b": B}) == [1, 0]


def test_named_and_plain_tuples_stand_for_each_other() -> None:
    assert order((A, B), Pair(A, B)) == [0, 1]
    assert order(Pair(A, B), (A, B)) == [0, 1]
    assert order([A, [None, B]], [A, [None, B]]) == [0, 1]


@pytest.mark.parametrize(
    ("actual", "expected", "said"),
    [
        ({"a": A}, {"a": A, "b": B}, "has the keys"),
        ((A, None), (A, B), "part 1 of the result is None, expected a tensor"),
        ((A, B), (A, None), "part 1 of the result is a tensor, expected None"),
        ((A,), A, "is a tuple, expected a tensor"),
        ([A, B], (A, B), "is a list, expected a tuple"),
        ((A, B, B), (A, B), "has 3 parts, expected 2"),
        (Other(A, B), Pair(A, B), "has the fields"),
        ((A, 3), (A, 4), "is 3, expected 4"),
        ((A, True), (A, 1), "is True, expected 1"),
        ((A, 0.5), (A, 0.6), "expected"),
        (Record(A, 1), {"values": A, "count": 1}, "is a dataclass, expected a dict"),
        (object(), A, "is builtins.object, expected a tensor"),
    ],
)
def test_what_differs_is_said(actual: Any, expected: Any, said: str) -> None:
    with pytest.raises(ContractError, match=said):
        order(actual, expected)


@pytest.mark.parametrize("forged", [None, 3, [], {}, {"tensor": "x"}, {"tensor": -1}, {"tuple": 3}, {"dict": [[1]]}])
def test_a_forged_structure_is_a_contract_error(forged: Any) -> None:
    for expected in (A, (A, B), {"a": A}):
        with pytest.raises(ContractError):
            places(forged, structure(expected, []))


def test_arguments_cross_with_their_fields() -> None:
    tensors: list[torch.Tensor] = []
    pair, record = decode(encode([Pair(A, B), Record(B, 7)], tensors), tensors)
    assert torch.equal(pair.low, A)
    assert record.count == 7
    assert len(tensors) == 3


def test_tensors_are_replaced_in_the_order_of_flattening() -> None:
    value = [Pair(A, {"k": B}), Record(A, 7)]
    doubled = mapped(value, lambda tensor: tensor + 1)
    assert isinstance(doubled[0], Pair)
    assert doubled[1].count == 7
    assert [tensor.shape for tensor in flatten(doubled)] == [tensor.shape for tensor in flatten(value)]
    assert float(doubled[1].values[0]) == 1.0
