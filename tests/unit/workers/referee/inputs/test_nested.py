"""Lists of other lengths, and dicts with further keys."""

from __future__ import annotations

import torch

from workers.referee.inputs.nested import of_other_lengths, with_key


def test_lists_of_like_tensors_become_shorter_and_longer() -> None:
    def draw() -> list[object]:
        return [{"states": [torch.randn(4, 8) for _ in range(3)]}, torch.randn(4), (torch.randn(2), torch.randn(3))]

    arguments = draw()
    found = dict(of_other_lengths(arguments, draw()))
    assert {where: len(one[0]["states"]) for where, one in found.items()} == {
        "lists of one tensor less": 2,
        "lists of one tensor more": 4,
        "lists of one tensor only": 1,
    }
    for one in found.values():
        assert one[0]["states"][0] is arguments[0]["states"][0]  # type: ignore[index]
        assert one[1] is arguments[1]
        assert len(one[2]) == 2


def test_lists_of_unlike_tensors_keep_their_lengths() -> None:
    assert (
        list(of_other_lengths([[torch.randn(4), torch.randn(5)], [1, 2]], [[torch.randn(4), torch.randn(5)], [1, 2]]))
        == []
    )


def test_a_key_that_is_absent_gets_what_may_stand_for_none() -> None:
    batch = {"x": torch.randn(4, 8)}
    values = [one[0]["weight"] for one in with_key([batch, 3], "weight")]
    assert [tuple(one.shape) for one in values[:3]] == [(8,), (4, 8), (4,)]
    assert values[3:] == [0.5, True]
    assert list(batch) == ["x"]


def test_a_key_that_is_there_stays() -> None:
    assert list(with_key([{"x": torch.randn(4, 8)}], "x")) == []
    assert list(with_key([torch.randn(4, 8)], "x")) == []
