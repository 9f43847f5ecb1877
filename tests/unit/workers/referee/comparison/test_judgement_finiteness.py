"""What is not finite is judged by element, but for NaN of which nobody knows what it hides."""

import math
from collections.abc import Mapping
from typing import Any, Self

import torch

from workers.ipc.tensors import TensorMeta
from workers.referee.comparison.call_outputs import Fetched, Output
from workers.referee.comparison.judgement import NAN_CHOOSES, NAN_IS_LOST, Judgement, judged_on_values
from workers.referee.comparison.output_structure import Answer
from workers.referee.comparison.tolerance import ErrorScale, Tolerance, compare, error_scale, tells_elements, tolerances
from workers.referee.inputs.distributions import DEGENERATE, OTHERS, OWN, Distribution

MIXED, PARTLY = OTHERS[2], OTHERS[-1]
WANTED = torch.tensor([1.0, math.nan, math.inf, -math.inf])


class Contract:
    tolerances: Mapping[str, Tolerance] = tolerances(None)
    gradient_names: tuple[str, ...] = ()


class Reference:
    """A reference of which nothing is known but what it gave."""

    problem = Contract()
    aliases: frozenset[tuple[int, int]] = frozenset()
    shares: frozenset[tuple[int, int | None]] = frozenset()
    modes: frozenset[tuple[int, str]] = frozenset()

    @property
    def accuracy(self) -> Self:
        """All of it in one."""
        return self

    def with_line_errors(self, scales: Any, _arguments: list[Any], _outputs: list[torch.Tensor]) -> Any:
        return scales

    def otherwise_rounded(self, _arguments: list[Any], _outputs: list[torch.Tensor]) -> list[list[torch.Tensor]]:
        return []

    def scales_on(
        self, arguments: list[Any], outputs: list[torch.Tensor], _distribution: object, *, in_place: bool = False
    ) -> Any:
        return None

    def other_choices(self, arguments: list[Any]) -> list[list[torch.Tensor]]:
        return []


def judged(given: torch.Tensor, wanted: torch.Tensor, kind: Distribution = DEGENERATE) -> Judgement:
    output = Output(kind="tensor", meta=TensorMeta.of(given), alias=None, value=given, strides=given.stride())
    fetched = Fetched(outputs=(output,), structure={"tensor": 0}, wall_s=0.0)
    return judged_on_values(Reference(), fetched, [], Answer.of(wanted), kind, (ErrorScale(),))


def test_a_number_in_the_place_of_nan_is_said_and_not_held_against() -> None:
    found = judged(torch.tensor([1.0, 7.0, math.inf, -math.inf]), WANTED)
    assert found.wrong is None
    assert found.remarks == [NAN_IS_LOST]
    assert judged(WANTED.clone(), WANTED).remarks == []


def test_infinities_have_their_places_and_numbers_theirs() -> None:
    for place, instead in ((0, math.nan), (0, 2.0), (2, -math.inf), (2, math.nan), (3, -88.0)):
        given = WANTED.clone()
        given[place] = instead
        assert judged(given, WANTED).wrong is not None


def test_where_the_reference_overflows_or_nearly_does_nothing_is_held_against_a_kernel() -> None:
    wanted = torch.tensor([1.0, math.nan, math.inf, 3.1e38, 3.1e38])
    given = torch.tensor([1.0, math.inf, -math.inf, math.inf, 3.1e38])
    assert judged(given, wanted, MIXED).wrong is None
    assert judged(given, wanted, OWN).wrong is not None
    for place, instead in ((0, math.inf), (0, 2.0), (3, 1e38)):
        other = given.clone()
        other[place] = instead
        assert judged(other, wanted, MIXED).wrong is not None


def test_places_of_nan_are_nobody_s_business() -> None:
    found = judged(torch.tensor([3, 4]), torch.tensor([3, 5]), PARTLY)
    assert found.wrong is None
    assert found.remarks == [NAN_CHOOSES]


def test_outputs_tell_something_where_one_element_is_a_number() -> None:
    assert tells_elements([WANTED, torch.tensor([1])])
    assert not tells_elements([WANTED, torch.full((3,), math.nan)])


def test_doubles_whose_squares_vanish_or_overflow_are_compared() -> None:
    for scale in (1e-168, 1e168):
        wanted = torch.randn(64, 64, dtype=torch.float64) * scale
        exact = error_scale(wanted, wanted)
        assert compare(wanted * (1 + 1e-15), wanted, exact, tolerances(None)) is None
        assert compare(torch.zeros_like(wanted), wanted, exact, tolerances(None)) is not None
