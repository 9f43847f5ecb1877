"""Lists of shapes: how they are written, sampled and read from a file."""

import itertools
import json

import pytest

from services.domain.errors import UserError
from services.domain.shape_lists import MOST_MEASURED, ShapeListError, entries, sampled, with_shapes


def test_entries_are_sizes_by_name_or_in_order() -> None:
    found = entries([{"rows": 16, "cols": 256}, [4, 8], (2,), 7, {"shape": [2, 3], "causal": True}])
    assert [entry.name for entry in found] == ["rows=16 cols=256", "4 8", "2", "7", "shape=2x3 causal=True"]
    assert found[1].arguments == (4, 8)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("shapes.json", "only the command line reads"),
        ([], "no|not a list"),
        ({"rows": 1}, "not a list"),
        ([{}], "entry 0"),
        ([{"rows": -1}], "no size"),
        ([{"no name": 1}], "no argument's"),
        ([{"rows": None}], "no size"),
        ([3.5], "entry 0"),
        ([[1]] * 1001, "1001 shapes; 1000 are allowed"),
    ],
)
def test_anything_else_is_refused(value: object, reason: str) -> None:
    with pytest.raises(ShapeListError, match=reason):
        entries(value)


def test_a_long_list_is_sampled_by_rank_of_size_with_both_ends_and_what_is_asked_for() -> None:
    sizes = [(37 * position) % 1000 for position in range(1000)]
    chosen = sampled(sizes, kept=[123, 7])
    assert len(chosen) == len(set(chosen)) == MOST_MEASURED
    assert {123, 7, sizes.index(0), sizes.index(999)} <= set(chosen)
    ranks = sorted(sizes[position] for position in chosen)
    assert max(after - before for before, after in itertools.pairwise(ranks)) <= 30
    assert sampled(sizes, kept=[123, 7]) == chosen


def test_a_short_list_is_taken_whole() -> None:
    assert sampled([5, 1, 3]) == [0, 1, 2]


def test_a_file_beside_the_problem_takes_the_place_of_its_name() -> None:
    source = 'import torch\nSHAPES = "many.json"  # served\nX = 1\n'
    found = with_shapes(source, {"many.json": json.dumps({"shapes": [{"rows": 3}, [4]]})}.__getitem__)
    assert found == "import torch\nSHAPES = [{'rows': 3}, [4]]  # served\nX = 1\n"
    assert with_shapes("SHAPES = [1]\n", lambda _name: "") == "SHAPES = [1]\n"


@pytest.mark.parametrize("text", ["{", "3", '{"shapes": "again.json"}', '[{"rows": -1}]', "[]"])
def test_a_file_without_a_list_is_refused_by_its_name(text: str) -> None:
    with pytest.raises(UserError, match=r"many\.json: it is no JSON list of shapes"):
        with_shapes('SHAPES = "many.json"\n', lambda _name: text)
