"""Which kinds of values are tried at an end, row by row, and in the place of wide ones that the reference refuses."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from workers.referee.errors import Refused
from workers.referee.inputs.distributions import FLATTER, LARGER, MANY_FEATURES, WIDE, Distribution
from workers.referee.state import ReferenceState


def a_state(*refused: Distribution, names: frozenset[str] = frozenset({"mul"}), takes_ties: bool = True) -> Any:
    names_of_refused = {one.name for one in refused}
    return SimpleNamespace(
        scales=lambda _number, distribution: None if distribution.name in names_of_refused else (),
        names=names,
        takes_ties=takes_ties,
    )


def test_the_largest_values_are_those_that_the_reference_takes() -> None:
    assert ReferenceState._largest(a_state(), 0) is WIDE
    assert ReferenceState._largest(a_state(WIDE), 0) is LARGER[0]
    assert ReferenceState._largest(a_state(WIDE, LARGER[0]), 0) is LARGER[1]
    assert ReferenceState._largest(a_state(WIDE, *LARGER), 0) in LARGER


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
    state = a_state(names=frozenset(names), takes_ties=takes_ties)
    tensors = [torch.rand(64, 64) if is_unit else torch.randn(64, 64)]
    found = ReferenceState._ended(state, 0, tensors, is_small=True)
    assert [one.name for one in found] == wanted
    assert ReferenceState._ended(state, 1, tensors, is_small=True) == []
    assert ReferenceState._ended(state, 0, tensors, is_small=False) == []


def test_rows_are_flatter_where_the_reference_does_not_take_all_features() -> None:
    def found(state: Any, number: int = 0, *, is_small: bool = True) -> list[str]:
        nothing = SimpleNamespace(operators=[], outputs=("y",), inputs=(), parameters=(), constants=())
        state.analysis = nothing
        tried = ReferenceState._row_by_row(state, number, is_small=is_small)
        assert all(one.harsh is bool(state.names) for one in tried)
        return [one.name for one in tried]

    assert found(a_state()) == found(a_state(names=frozenset())) == [MANY_FEATURES.name]
    assert found(a_state(MANY_FEATURES)) == [FLATTER.name]
    assert found(a_state(MANY_FEATURES, FLATTER)) == []
    assert found(a_state(), is_small=False) == found(a_state(), 1) == []


def test_what_hangs_on_a_rounding_is_looked_at_where_nothing_is_known_of_choices() -> None:
    def expected(arguments: list[Any]) -> Any:
        if float(arguments[0].max()) > 1:
            raise Refused("more than one", remedy="less")
        return SimpleNamespace(tensors=[arguments[0]])

    state: Any = object.__new__(ReferenceState)
    state.analysis = SimpleNamespace(operators=[], outputs=("y",), inputs=(), parameters=(), constants=())
    state.expected = expected
    x = torch.ones(8)
    assert ReferenceState._hangs_on_a_rounding(state, [x], [x], is_unknown=True)
    assert not ReferenceState._hangs_on_a_rounding(state, [x], [x])
    assert not ReferenceState._hangs_on_a_rounding(state, [x / 2], [x / 2], is_unknown=True)
