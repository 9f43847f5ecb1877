"""Lists and dicts of other lengths, and dicts with further keys."""

from __future__ import annotations

import random
from typing import Any

import torch

from workers.referee.inputs.nested import of_other_lengths, with_key


def lengths(arguments: list[Any]) -> dict[str, list[Any]]:
    return {where: [len(one) for one in found] for where, found in of_other_lengths(arguments, arguments)}


def test_lists_of_like_tensors_become_shorter_and_longer() -> None:
    def draw() -> list[Any]:
        return [[torch.randn(4, 8) for _ in range(3)], torch.randn(4)]

    arguments = draw()
    found = dict(of_other_lengths(arguments, draw()))
    assert {where: len(one[0]) for where, one in found.items()} == {
        "lists of 3 tensors, with one item less": 2,
        "lists of 3 tensors, with one item more": 4,
        "lists of 3 tensors, with one item only": 1,
    }
    for one in found.values():
        assert one[0][0] is arguments[0][0]
        assert one[1] is arguments[1]


def test_tensors_that_become_smaller_go_on_so() -> None:
    levels = [torch.randn(8, size) for size in (32, 16, 8)]
    found = dict(of_other_lengths([levels], [levels]))
    assert found["lists of 3 tensors, with one item more"][0][-1].shape == (8, 4)
    assert [one.shape[1] for one in found["lists of 3 tensors, with one item less"][0]] == [32, 16]
    (one_more,) = dict(of_other_lengths([levels[::-1]], [levels[::-1]]))["lists of 3 tensors, with one item more"]
    assert one_more[-1].shape == (8, 32)


def test_numbers_become_fewer_and_more() -> None:
    found = dict(of_other_lengths([[0.25, 0.5, 0.25], (3, 2)], [[0.25, 0.5, 0.25], (3, 2)]))
    assert found["lists of 3 numbers, with one item less"] == [[0.25, 0.5], (3, 2)]
    assert len(found["lists of 3 numbers, with one item more"][0]) == 4
    assert found["lists of 2 numbers, with one item only"] == [[0.25, 0.5, 0.25], (3,)]


def test_lists_of_one_length_change_together_and_each_kind_alone() -> None:
    found = lengths([[torch.randn(2), torch.randn(2)], [1, 2]])
    assert found["lists of 2 items, with one item more"] == [3, 3]
    assert found["lists of 2 tensors, with one item more"] == [3, 2]
    assert found["lists of 2 numbers, with one item only"] == [2, 1]


def test_dicts_lack_a_key_or_have_one_that_nobody_knows() -> None:
    def draw() -> list[Any]:
        return [{"token": torch.randn(4, 8), "position": torch.randn(4, 8)}]

    arguments, another = draw(), draw()
    found = {where: one[0] for where, one in of_other_lengths(arguments, another)}
    assert list(found["dicts without 'token'"]) == ["position"]
    assert list(found["dicts without 'position'"]) == ["token"]
    assert found["dicts with an unknown key"]["further"] is another[0]["position"]


def test_what_changes_is_the_same_under_a_seed() -> None:
    given: list[Any] = [dict.fromkeys("abcdefgh", 1), [1, 2, 3]]
    one, other = (list(of_other_lengths(given, given, random.Random(5))) for _ in range(2))
    assert one == other


def test_nothing_changes_where_no_list_is_given_and_draws_are_alike() -> None:
    assert list(of_other_lengths([torch.randn(4), 2], [torch.randn(4), 2])) == []
    assert list(of_other_lengths([[1, 2]], [[1, 2, 3]])) == []


def test_a_key_that_is_absent_gets_what_may_stand_for_none() -> None:
    batch = {"x": torch.randn(4, 8)}
    values = [one[0]["weight"] for one in with_key([batch, 3], "weight")]
    assert [tuple(one.shape) for one in values[:3]] == [(8,), (4, 8), (4,)]
    assert values[3:] == [0.5, True]
    assert list(batch) == ["x"]


def test_a_key_that_is_there_stays() -> None:
    assert list(with_key([{"x": torch.randn(4, 8)}], "x")) == []
    assert list(with_key([torch.randn(4, 8)], "x")) == []
