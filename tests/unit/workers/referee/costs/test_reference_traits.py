"""What is known of a reference by its graph."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from workers.referee.costs.reference_traits import ReferenceTraits


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        ({"embedding", "relu"}, True),
        ({"embedding", "relu", "sub"}, False),
        ({"embedding", "relu", "native_layer_norm"}, False),
        ({"embedding", "amax"}, False),
        (set(), False),
    ],
)
def test_indices_may_be_alike_where_kinks_are_of_single_floats(names: set[str], wanted: bool) -> None:
    analysis: Any = SimpleNamespace(operators=[SimpleNamespace(target=f"aten.{name}.default") for name in names])
    assert ReferenceTraits(analysis, is_step=True).may_repeat_indices is wanted
