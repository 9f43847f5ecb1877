"""Who chooses another of two equal values than the reference is right; who gives a wrong place is not."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Self

import torch

from workers.ipc.tensors import TensorMeta
from workers.referee.comparison.call_outputs import Fetched, Output
from workers.referee.comparison.judgement import judged_on_values
from workers.referee.comparison.output_structure import Answer
from workers.referee.comparison.tolerance import ErrorScale, Tolerance
from workers.referee.inputs.distributions import OWN, without_ties


class Contract:
    tolerances: Mapping[str, Tolerance] = MappingProxyType({})
    gradient_names: tuple[str, ...] = ()


class TopOfRows:
    """A reference that gives the places of each row's two largest values."""

    problem = Contract()
    aliases: frozenset[tuple[int, int]] = frozenset()
    shares: frozenset[tuple[int, int | None]] = frozenset()
    modes: frozenset[tuple[int, str]] = frozenset()

    @property
    def accuracy(self) -> Self:
        """All of it in one."""
        return self

    def scales_on(
        self, arguments: list[Any], outputs: list[torch.Tensor], _distribution: object, *, in_place: bool = False
    ) -> Any:
        return tuple(ErrorScale() for _ in outputs)

    def with_line_errors(self, scales: Any, _arguments: list[Any], _outputs: list[torch.Tensor]) -> Any:
        return scales

    def otherwise_rounded(self, _arguments: list[Any], _outputs: list[torch.Tensor]) -> list[list[torch.Tensor]]:
        return list(self.otherwise)

    otherwise: Sequence[list[torch.Tensor]] = ()

    def other_choices(self, arguments: list[Any]) -> list[list[torch.Tensor]]:
        return [[two_largest(*without_ties(arguments, later_is_larger=one))] for one in (False, True)]


def two_largest(x: torch.Tensor) -> torch.Tensor:
    return torch.sort(x, dim=1, descending=True, stable=True).indices[:, :2]


def wrong(x: torch.Tensor, given: torch.Tensor, reference: TopOfRows | None = None) -> str | None:
    output = Output(kind="tensor", meta=TensorMeta.of(given), alias=None, value=given, strides=given.stride())
    fetched = Fetched(outputs=(output,), structure={"tensor": 0}, wall_s=0.0)
    scales = (ErrorScale(),)
    return judged_on_values(reference or TopOfRows(), fetched, [x], Answer.of(two_largest(x)), OWN, scales).wrong


def tied() -> torch.Tensor:
    x = torch.rand(300, 64)
    x[7, 3] = x[7, 40] = 2.0
    return x


def test_the_other_one_of_two_equal_values_is_right() -> None:
    x = tied()
    given = two_largest(x).contiguous()
    assert given[7].tolist() == [3, 40]
    given[7] = torch.tensor([40, 3])
    assert wrong(x, given) is None


def test_a_place_of_another_value_is_wrong() -> None:
    x = tied()
    for place, instead in (((7, 0), 5), ((8, 0), 64)):
        given = two_largest(x).contiguous()
        given[place] = instead if int(given[place]) != instead else instead + 1
        assert wrong(x, given) is not None


def test_many_choices_are_no_chance() -> None:
    x = torch.rand(300, 64)
    x[:, 3] = x[:, 40] = 2.0
    assert wrong(x, two_largest(x).flip(1).contiguous()) is not None


def test_values_are_moved_apart_in_their_order() -> None:
    x = torch.tensor(
        [1.0, 3.0, 1.0, -2.0, -2.0, float("inf"), 0.0, torch.nextafter(torch.tensor(1.0), torch.tensor(2.0))]
    )
    labels = torch.arange(8)
    for later in (False, True):
        moved, same = without_ties([x, labels], later_is_larger=later)
        assert same is labels
        assert bool(moved[2] > moved[0]) is later
        assert bool(moved[4] > moved[3]) is later
        assert torch.equal(moved.float()[[5, 6]], x[[5, 6]])
        assert max(moved[0], moved[2]) < moved[7] < moved[1]


def test_who_agrees_with_float64_is_right_wherever_roundings_led_the_reference() -> None:
    x = torch.rand(300, 64)
    given = two_largest(x).contiguous()
    given[:200] = given[:200].flip(1)
    assert wrong(x, given) is not None
    reference = TopOfRows()
    reference.otherwise = [[given.clone()]]
    assert wrong(x, given, reference) is None
    reference.otherwise = [[given.flip(1)]]
    assert wrong(x, given, reference) is not None


def test_few_rows_may_be_as_those_of_arguments_that_are_rounded_once_more() -> None:
    x = torch.rand(300, 64)
    given = two_largest(x).contiguous()
    reference = TopOfRows()
    near = [given.clone() for _ in range(3)]
    for row, other in zip((7, 40, 41), near, strict=True):
        given[row] = given[row].flip(0)
        other[row] = given[row]
    reference.otherwise = [[two_largest(x)], *([one] for one in near)]
    assert wrong(x, given, reference) is None
    given[50] = given[50].flip(0)
    assert wrong(x, given, reference) is not None


def test_where_many_elements_hang_on_a_rounding_few_may_be_as_in_no_rounding_that_was_tried() -> None:
    x = torch.rand(3, 4096).sort(dim=1, descending=True).values
    wanted = torch.arange(4096).repeat(3, 1)

    def turned(*places: int) -> torch.Tensor:
        other = wanted.clone()
        for place in places:
            other[:, [place, place + 1]] = other[:, [place + 1, place]]
        return other

    def said(given: torch.Tensor, others: list[torch.Tensor]) -> str | None:
        reference = TopOfRows()
        reference.otherwise = [[wanted], *([one] for one in others)]
        output = Output(kind="tensor", meta=TensorMeta.of(given), alias=None, value=given, strides=given.stride())
        fetched = Fetched(outputs=(output,), structure={"tensor": 0}, wall_s=0.0)
        return judged_on_values(reference, fetched, [x], Answer.of(wanted), OWN, (ErrorScale(),)).wrong

    unsure = [turned(*range(number * 40, number * 40 + 30, 2)) for number in range(6)]
    assert said(turned(0, 4, 82), unsure) is None
    assert said(turned(0, 4, 2000), unsure) is None
    assert said(turned(0, 4, 2000, 2002, 2004, 2006), unsure) is not None
    assert said(turned(0, 4, 2000), [wanted]) is not None
