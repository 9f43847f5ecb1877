"""Which kinds of values are tried: of one tensor alone, hardly different ones, at an end, row by row, and others in the
place of wide ones that the reference refuses."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from workers.referee.comparison.tolerance import ErrorScale
from workers.referee.costs.output_paths import chooses_computed
from workers.referee.inputs.distributions import FLATTER, HUGE, HUGEST, LARGER, MANY_FEATURES, WIDE, Distribution
from workers.referee.tried_values import TriedValues


def tried_of(names: Any, *, draw: Any = None, scales: Any = None, traits: Any = None, **problem: Any) -> TriedValues:
    """Of a reference with operators of such names, and other traits."""
    operators = [
        SimpleNamespace(target=f"aten.{name}.default", arguments=(), keywords=(), outputs=()) for name in names
    ]
    analysis: Any = SimpleNamespace(operators=operators, outputs=("y",), inputs=(), parameters=(), constants=())
    known = {"names": names, "analysis": analysis, "chooses_computed": chooses_computed(analysis)}
    return TriedValues(
        SimpleNamespace(**{"is_step": False, "tolerances": {}, **problem}),  # type: ignore[arg-type]
        SimpleNamespace(**known, **(traits or {})),  # type: ignore[arg-type]
        is_one_of_many=False,
        draw=draw,
        scales=scales or (lambda _number, _distribution: ()),
    )


def refusing(
    *refused: Distribution, names: frozenset[str] = frozenset({"mul"}), takes_ties: bool = True
) -> TriedValues:
    names_of_refused = {one.name for one in refused}
    return tried_of(
        names,
        scales=lambda _number, distribution: None if distribution.name in names_of_refused else (),
        traits={"takes_ties": takes_ties},
    )


@pytest.mark.parametrize(
    ("names", "exact", "changes", "wanted"),
    [
        ({"gt", "where"}, {0}, {}, ["neighbouring floats as", "subnormal floats among", "(in tensor 2 alone)"]),
        ({"mul"}, set(), {}, ["(in tensor 2 alone)"]),
        ({"mm"}, set(), {}, []),
        ({"cumsum"}, set(), {}, []),
        ({"grid_sampler"}, set(), {}, []),
        ({"gt", "where"}, {0}, {"is_step": True}, []),
        ({"gt", "where"}, {0}, {"tolerances": {"float32": SimpleNamespace(looser=True)}}, []),
        (set(), set(), {}, []),
    ],
)
def test_which_floats_are_hardly_different_or_not_finite(
    names: set[str], exact: set[int], changes: dict[str, Any], wanted: list[str]
) -> None:
    traits = {"exact": frozenset(exact), "is_all_exact": bool(exact), "converts": False, "choices": {}}
    tried = tried_of(names, traits=traits, **changes)
    found = tried._telling_apart([torch.randn(8, 16), torch.randn(8, 16)], is_small=True)
    assert len(found) == len(wanted)
    assert all(one.name.endswith(end) for one, end in zip(found, wanted, strict=True))


def alone(
    tensors: list[torch.Tensor], *, taken: tuple[str, ...], names: frozenset[str] = frozenset({"mul"})
) -> list[str]:
    """The kinds of values that are tried of one tensor alone, where the reference takes those that begin so."""

    def scales(_number: int, distribution: Distribution) -> tuple[ErrorScale, ...] | None:
        return () if distribution.name.startswith(taken) else None

    tried = tried_of(names, scales=scales, traits={"has_whole_inside": False, "converts_or_masks": False})
    return [one.name for one in tried._alone(0, tensors, [HUGE, HUGEST])]


def test_one_tensor_alone_is_as_far_from_the_others_as_the_reference_takes_it() -> None:
    x, labels = torch.randn(64, 8), torch.arange(64)
    found = alone([x, labels, x + 1], taken=("minute", "huge"))
    assert sorted(found) == [
        "hugest (in tensor 1 alone)",
        "hugest (in tensor 2 alone)",
        "minutest (in tensor 1 alone)",
        "minutest (in tensor 2 alone)",
    ]
    assert alone([x, x + 1], taken=("huge ",))[0].startswith("huge (in tensor")
    assert alone([x, x + 1], taken=("wide",)) == []


def test_of_three_tensors_two_are_minute_as_well_and_of_more_some_are_tried() -> None:
    x = torch.randn(64, 8)
    of_three = alone([x, x + 1, x + 2], taken=("minute ",))
    assert sorted(name for name in of_three if "but for" in name) == [
        "minute (but for tensor 1)",
        "minute (but for tensor 2)",
        "minute (but for tensor 3)",
    ]
    assert len(alone([x, x, x, x, x], taken=("minute ",))) == len(of_three)


def test_what_is_alone_anyway_and_remainders_are_not_tried_so() -> None:
    x = torch.randn(64, 8)
    assert alone([x, torch.arange(64)], taken=("minute", "huge")) == []
    assert alone([x, x + 1], taken=("minute", "huge"), names=frozenset({"remainder"})) == []


@pytest.mark.parametrize(
    ("make", "names", "wanted"),
    [
        (lambda: torch.randint(0, 50_000, (8, 640)), {"embedding"}, True),
        (lambda: torch.randint(0, 50_000, (8, 640)), {"index_put"}, False),
        (lambda: torch.randperm(50_000)[:5120], {"embedding"}, False),
    ],
)
def test_indices_repeat_in_steps_where_a_draw_shows_it(make: Any, names: set[str], wanted: bool) -> None:
    tried = tried_of(names, draw=lambda _number, _distribution: [make()], is_step=True)
    assert tried._repeats_indices(0) is wanted


def test_the_largest_values_are_those_that_the_reference_takes() -> None:
    assert refusing()._largest(0) is WIDE
    assert refusing(WIDE)._largest(0) is LARGER[0]
    assert refusing(WIDE, LARGER[0])._largest(0) is LARGER[1]
    assert refusing(WIDE, *LARGER)._largest(0) in LARGER


@pytest.mark.parametrize(
    ("names", "is_unit", "takes_ties", "wanted"),
    [
        ({"sigmoid", "add"}, False, True, ["upper end", "lower end"]),
        ({"mul"}, False, True, []),
        ({"mul"}, True, True, ["upper end", "lower end"]),
        ({"sigmoid", "native_layer_norm"}, False, True, []),
        ({"erfc", "softmax"}, False, True, []),
        ({"sigmoid"}, False, False, []),
    ],
)
def test_values_at_an_end_are_tried_where_the_reference_saturates(
    names: set[str], is_unit: bool, takes_ties: bool, wanted: list[str]
) -> None:
    tried = refusing(names=frozenset(names), takes_ties=takes_ties)
    tensors = [torch.rand(64, 64) if is_unit else torch.randn(64, 64)]
    found = tried._ended(0, tensors, is_small=True)
    assert [one.name for one in found] == wanted
    assert tried._ended(1, tensors, is_small=True) == []
    assert tried._ended(0, tensors, is_small=False) == []


def test_rows_are_flatter_where_the_reference_does_not_take_all_features() -> None:
    def found(tried: TriedValues, number: int = 0, *, is_small: bool = True) -> list[str]:
        rows = tried._row_by_row(number, is_small=is_small)
        assert all(one.harsh is bool(tried._traits.names) for one in rows)
        return [one.name for one in rows]

    assert found(refusing()) == found(refusing(names=frozenset())) == [MANY_FEATURES.name]
    assert found(refusing(MANY_FEATURES)) == [FLATTER.name]
    assert found(refusing(MANY_FEATURES, FLATTER)) == []
    assert found(refusing(), is_small=False) == found(refusing(), 1) == []
