"""Arguments that no draw changes get other values that keep what can be seen of their structure."""

from __future__ import annotations

import math
import random
from typing import Any, NamedTuple

import pytest
import torch

from workers.ipc.tensors import leaves
from workers.referee.inputs.unvarying import (
    Freedom,
    follows,
    identities,
    loosened,
    unvarying,
    variations,
    wider_numbers,
    with_sources,
)

OFFSETS = torch.arange(0, 65, 8)


class Options(NamedTuple):
    steps: int
    scale: float
    mode: str


def varied(arguments: list[Any], place: int = 0) -> list[list[Any]]:
    """The leaves of each variation of one of them."""
    found = variations(arguments, place, random.Random(7))
    return [[value for _, value in leaves(one.arguments)] for one in found]


def test_what_a_draw_changes_is_left_alone() -> None:
    def draw(seed: int) -> list[Any]:
        generator = torch.Generator().manual_seed(seed)
        return [torch.randn(64, 4, generator=generator), OFFSETS, torch.randperm(8, generator=generator), 3, seed]

    assert unvarying(draw(seed) for seed in range(3)) == [1, 3]


def test_what_other_kinds_of_values_change_is_left_to_them() -> None:
    assert unvarying([[torch.ones(8), torch.arange(64.0), torch.zeros(0, dtype=torch.int64)]] * 2) == []


def test_leaves_are_found_at_any_depth() -> None:
    arguments = [{"deep": [torch.tensor(0.0), (True,)]}, Options(steps=3, scale=2.0, mode="sum")]
    places = unvarying([arguments, arguments])
    assert [leaves(arguments)[place][0] for place in places] == [
        "[0]['deep'][0]",
        "[0]['deep'][1][0]",
        "[1].steps",
        "[1].scale",
        "[1].mode",
    ]
    (changed,) = variations(arguments, places[1], random.Random(1))
    assert changed.arguments[0]["deep"][1] == (False,)
    assert changed.arguments[1] == arguments[1]


def test_offsets_get_unequal_segments_in_order_between_the_same_ends() -> None:
    for (changed,) in varied([OFFSETS]):
        assert (changed[0], changed[-1]) == (0, 64)
        assert bool((changed.diff() > 0).all())
        assert len(changed.diff().unique()) > 1


def test_what_follows_from_offsets_changes_with_them() -> None:
    arguments = [torch.randn(64, 4), OFFSETS, OFFSETS.diff(), OFFSETS[:-1], 8, torch.arange(8).repeat_interleave(8)]
    first = varied(arguments, 1)[0]
    assert torch.equal(first[2], first[1].diff())
    assert torch.equal(first[3], first[1][:-1])
    assert first[4] == int(first[2].max())
    assert torch.equal(first[5], torch.arange(8).repeat_interleave(first[2]))


def test_a_number_that_follows_from_offsets_does_not_change_alone() -> None:
    arguments = [OFFSETS, 8]
    assert follows(arguments, 1)
    assert varied(arguments, 1) == []
    assert not follows(arguments, 0)


def test_a_number_may_follow_by_chance() -> None:
    assert [one[1] for one in varied([OFFSETS, 8], 0)][1] == 8


def test_a_permutation_becomes_another_one() -> None:
    (changed,) = varied([torch.tensor([3, 0, 2, 1, 5, 4, 7, 6])])[0]
    assert sorted(changed.tolist()) == list(range(8))


def test_positions_begin_elsewhere() -> None:
    (changed,) = varied([torch.arange(64)])[0]
    assert bool((changed.diff() == 1).all())
    assert int(changed[0]) > 0


def test_a_causal_mask_lets_less_through_below_its_diagonal() -> None:
    causal = torch.ones(32, 32, dtype=torch.bool).tril()
    for mask in (causal, torch.zeros(32, 32).masked_fill(~causal, -math.inf)):
        (changed,) = varied([mask])[0]
        assert torch.equal(changed.triu(1), mask.triu(1))
        assert not torch.equal(changed, mask)
        assert bool((changed[:, 0] == mask[:, 0]).all())


def test_a_mask_of_prefixes_keeps_them() -> None:
    mask = torch.arange(48) < torch.randint(1, 49, (16, 1))
    for (changed,) in varied([mask]):
        assert bool((changed[:, 1:] <= changed[:, :-1]).all())
        assert bool(changed[:, 0].all())


def test_a_symmetric_mask_stays_so() -> None:
    mask = torch.eye(16, dtype=torch.bool).roll(1, 0)
    for (changed,) in varied([mask | mask.mT]):
        assert torch.equal(changed, changed.mT)


def test_rows_with_a_single_one_keep_it() -> None:
    given = torch.nn.functional.one_hot(torch.randint(0, 8, (64,)), 8)
    found = varied([given])
    assert found
    for (changed,) in found:
        assert bool((changed.sum(dim=1) == 1).all())


@pytest.mark.parametrize("full", [True, False])
def test_a_mask_of_one_value_is_turned_over_in_places(full: bool) -> None:
    mask = torch.full((4, 6), full)
    for _ in range(20):
        (changed,) = varied([mask])[0]
        assert not torch.equal(changed, mask)
        assert bool((changed == mask).any(dim=1).all())


def test_equal_lengths_keep_a_sum_that_is_a_size() -> None:
    lengths, _ = varied([torch.full((8,), 4), torch.randn(32, 3)])[0]
    assert int(lengths.sum()) == 32
    assert len(lengths.unique()) > 1


def test_full_lengths_become_shorter() -> None:
    lengths, _ = varied([torch.full((64,), 16), torch.randn(64, 16)])[0]
    assert len(lengths.unique()) > 1
    assert (int(lengths.min()) >= 1, int(lengths.max()) <= 16) == (True, True)


@pytest.mark.parametrize("number", [3, 1, 0])
def test_whole_numbers_change_to_larger_ones_and_to_those_of_the_other_sign(number: int) -> None:
    for found in (
        [one[0] for one in varied([number, torch.randn(64)])],
        [int(one[0]) for one in varied([torch.tensor(number), torch.randn(64)])],
    ):
        assert 2 * number < found[0] <= 4 * number + 1 <= found[1] + 4 * number <= 64 + 4 * number
        assert {number - 1, number + 1, -number if number else -1, 0, 1} - {number} <= set(found)


def test_a_negative_number_stays_small() -> None:
    assert {1, -2, 0} <= {one[0] for one in varied([-1])}


def test_a_number_that_is_a_size_becomes_larger_and_smaller_in_turn() -> None:
    found = [one[0] for one in varied([12, torch.randn(12)])]
    assert found[0] > 24
    assert found[1] in (0, 1, 6)
    assert {11, 6, 1, 0} <= set(found)


def test_a_number_that_follows_from_lengths_changes_with_them() -> None:
    lengths = torch.tensor([3, 64, 17, 3, 40])
    mask = torch.arange(100) < lengths[:, None]
    found = [one.arguments for one in with_sources([torch.randn(5, 100), lengths, 64, mask], 2)]
    assert [one[2] for one in found] == [40, 96]
    for _, changed, longest, inside in found:
        assert longest == int(changed.max())
        assert torch.equal(inside, torch.arange(100) < changed[:, None])


def test_lengths_never_exceed_the_rows_that_they_are_within() -> None:
    arguments = [torch.randn(5, 80), torch.tensor([3, 64, 17, 3, 40]), 64]
    assert [one.arguments[2] for one in with_sources(arguments, 2)] == [40]


def test_lengths_keep_a_sum_that_is_a_size_when_the_longest_changes() -> None:
    lengths = torch.tensor([8, 9, 8, 7])
    for one in with_sources([torch.randn(32, 3), lengths, 9], 2):
        assert int(one.arguments[1].sum()) == 32
        assert one.arguments[2] == int(one.arguments[1].max())


def test_the_longest_segment_changes_with_offsets_between_the_same_ends() -> None:
    (found,) = with_sources([OFFSETS, 8], 1)
    assert (int(found.arguments[0][0]), int(found.arguments[0][-1])) == (0, 64)
    assert found.arguments[1] == int(found.arguments[0].diff().max()) > 8
    assert list(with_sources([torch.randperm(9), 3], 1)) == []


def test_a_number_becomes_zero_one_and_each_size() -> None:
    arguments = [torch.randn(4, 8), 3, torch.randn(6, 1), 0.5]
    assert [one.arguments[1] for one in identities(arguments, 1)] == [3, 4, 6, 8, 0, 1]
    assert [one.arguments[3] for one in identities(arguments, 3)] == [0.5, 0.0, 1.0]


def test_a_single_fraction_that_varies_becomes_wider() -> None:
    x, same = torch.randn(8), torch.tensor([2.0])
    found = list(wider_numbers([[x, torch.tensor([1.0]), same, -2.0, 3], [x, torch.tensor([2.0]), same, -1.0, 4]]))
    assert [(place, factor) for place, factor, _ in found] == [(1, 16), (1, 256), (3, 16), (3, 256)]
    assert [one[1].tolist() for _, _, one in found[:2]] == [[32.0], [512.0]]
    assert [one[3] for _, _, one in found[2:]] == [-32.0, -512.0]


@pytest.mark.parametrize("number", [0.01, 2.0, -3.0])
def test_fractions_change_their_sign_and_go_beyond_one(number: float) -> None:
    found = [one[0] for one in varied([number])]
    assert any(one * number < 0 for one in found)
    assert any(abs(one) > max(1.4, abs(number)) for one in found)
    assert {0.0, 1.0} <= set(found)


def test_a_scale_of_zero_becomes_something() -> None:
    assert all(bool(one[0] != 0) for one in varied([torch.zeros(1)]))
    assert all(one[0] != 0 for one in varied([0.0]))


def test_a_text_changes_to_those_that_the_model_names_and_those_that_pytorch_takes() -> None:
    found = {one.arguments[0] for one in variations(["mean"], 0, random.Random(1), ["median"])}
    assert {"median", "sum", "none"} <= found
    assert "mean" not in found
    assert varied(["relu"]) == []


def test_none_changes_to_a_vector_a_tensor_other_vectors_and_a_number() -> None:
    found = [one[1] for one in varied([torch.randn(4, 8), None], 1)]
    assert [tuple(one.shape) for one in found[:-1]] == [(8,), (4, 8), (4,)]
    assert found[-1] == 0.5


def loose(arguments: list[Any], place: int = 0, freedom: Freedom = Freedom()) -> dict[str, list[Any]]:  # noqa: B008
    """The leaves of each variation that lacks a structure."""
    found = loosened(arguments, place, freedom)
    return {one.what: [value for _, value in leaves(one.arguments)] for one in found}


def test_equal_offsets_change_apart_with_what_follows_from_the_first() -> None:
    arguments = [OFFSETS, OFFSETS.clone(), OFFSETS.diff(), OFFSETS.diff(), 8]
    first, second, lengths, others, longest = loose(arguments)["other values, alone, of"]
    assert torch.equal(second, OFFSETS)
    assert torch.equal(others, OFFSETS.diff())
    assert torch.equal(lengths, first.diff())
    assert longest == max(8, int(lengths.max()))
    assert "other values, alone, of" not in loose([OFFSETS, OFFSETS.clone(), OFFSETS.diff()])


def test_segments_may_be_empty() -> None:
    ((what, (offsets, lengths)),) = loose([OFFSETS, OFFSETS.diff()]).items()
    assert what == "empty segments in"
    assert (int(offsets[1]), int(offsets[-2]), int(offsets[-1])) == (0, 64, 64)
    assert torch.equal(lengths, offsets.diff())
    assert loose([OFFSETS], freedom=Freedom(repeats=False)) == {}


def test_lengths_may_be_zero() -> None:
    (lengths,) = (one[0] for one in loose([torch.full((8,), 4), torch.randn(32, 3)]).values())
    assert (int(lengths.min()), int(lengths.sum())) == (0, 32)


def test_positions_begin_again_and_have_gaps() -> None:
    found = loose([torch.arange(16)])
    assert sorted(found) == ["a gap in", "a new beginning in"]
    assert int((found["a new beginning in"][0] == 0).sum()) == 2
    assert found["a gap in"][0].unique().numel() == 16
    assert list(loose([torch.arange(16)], freedom=Freedom(restarts=False))) == ["a gap in"]


def test_a_mask_may_let_nothing_through() -> None:
    found = loose([torch.ones(16, 8, dtype=torch.bool)])
    assert not bool(found["nothing in"][0].any())
    assert int((~found["nothing in some rows of"][0]).all(dim=1).sum()) == 2
    assert loose([torch.ones(16, 8, dtype=torch.bool)], freedom=Freedom(empty_rows=False)) == {}
    assert loose([torch.eye(16)]) == {}


def test_a_choice_takes_general_numbers_in_its_triangle() -> None:
    mask = torch.zeros(32, 32).masked_fill(torch.ones(32, 32, dtype=torch.bool).triu(1), -math.inf)
    found = loose([mask])
    assert "everything in some rows of" not in found
    (changed,) = found["general numbers in"]
    assert torch.equal(changed.isinf(), mask.isinf())
    assert changed.unique().numel() > 100
    prefixes = (torch.arange(48) < torch.randint(1, 49, (16, 1))).float()
    assert "general numbers in" not in loose([prefixes])


def test_a_number_that_divides_a_size_becomes_multiples_of_itself_that_do() -> None:
    found = [one[1] for one in varied([torch.randn(4, 256), 8], 1)]
    assert {16, 32, 128} <= set(found)
    assert 256 % found[0] != 0  # numbers in no relation come first
