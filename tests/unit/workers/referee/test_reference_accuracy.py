"""How exact a reference is on given arguments, and where that is not known."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from workers.referee.comparison.error_scales import is_by_range
from workers.referee.comparison.output_structure import Answer
from workers.referee.comparison.tolerance import ErrorScale, compare, examine, tolerances
from workers.referee.costs.output_paths import chooses_computed
from workers.referee.errors import Refused
from workers.referee.inputs.distributions import DEGENERATE, HUGE, PADDED, Distribution
from workers.referee.reference_accuracy import ReferenceAccuracy


def accuracy_of(*, expected: Any = None, usual: Any = None, traits: Any = None, **problem: Any) -> ReferenceAccuracy:
    """Of a reference with such traits and what the problem's process says of it."""
    known: dict[str, Any] = {
        "names": frozenset(),
        "analysis": None,
        "has_exponentials": False,
        "chooses_computed": False,
    }
    return ReferenceAccuracy(
        SimpleNamespace(**{"tolerances": tolerances(None), **problem}),  # type: ignore[arg-type]
        SimpleNamespace(**{**known, **(traits or {})}),  # type: ignore[arg-type]
        expected=expected,
        usual=usual,
    )


@pytest.mark.parametrize("ties", [True, False])
def test_a_value_near_the_middle_of_two_8_bit_numbers_is_many_elements_among_ties_alone(ties: bool) -> None:
    wanted = torch.full((64, 64), 2.0).to(torch.float8_e4m3fn)
    returned = wanted.clone()
    returned[:2] = torch.tensor(2.25).to(torch.float8_e4m3fn)

    scale = accuracy_of().with_depth(ErrorScale(), wanted, ties=ties)  # nothing of the problem is asked for 8 bits

    assert (examine(returned, wanted, scale, tolerances(None)).mismatch is None) is ties
    returned[0, 0] = torch.tensor(3.0).to(torch.float8_e4m3fn)
    assert examine(returned, wanted, scale, tolerances(None)).mismatch is not None


@pytest.mark.parametrize(("exact", "wanted"), [(True, [0, 0, 1]), (False, [-145, -139, 1])])
def test_who_flushes_subnormal_numbers_is_right_where_nothing_is_computed(exact: bool, wanted: list[int]) -> None:
    """Elsewhere, where float64 says what is right, it does so of them too."""
    given = torch.tensor([-(2.0**-146), 2.0**-140, 1.0])
    accuracy = accuracy_of(
        expected=lambda arguments: Answer.of(arguments[0].frexp().exponent),
        run_double=lambda arguments: [arguments[0].double().frexp().exponent],
        traits={"is_all_exact": exact},
    )
    (found,) = accuracy.otherwise_rounded([given], [given.frexp().exponent])
    assert found[0].tolist() == wanted
    (found,) = accuracy.otherwise_rounded([given[2:]], [given[2:].frexp().exponent])
    assert found[0].tolist() == [1]


@pytest.mark.parametrize("function", [torch.argmax, torch.sum])
def test_ties_matter_where_places_are_told(function: Any) -> None:
    accuracy = accuracy_of(run_double=lambda arguments: [function(arguments[0], dim=-1)])
    assert accuracy.ties_matter([torch.ones(4, 8)]) is (function is torch.argmax)
    assert accuracy_of(run_double=lambda _arguments: []).ties_matter([torch.ones(4, 8)])


@pytest.mark.parametrize("cancels", [True, False])
def test_a_faint_row_hangs_on_roundings_where_its_terms_cancel_and_nowhere_else(cancels: bool) -> None:
    """A reference that is exact there by luck says nothing of the kernels that are not."""
    one, other = torch.rand(8, 64, dtype=torch.float64) + 1, torch.zeros(8, 64, dtype=torch.float64)
    one[3] = 1.0 if cancels else 1e-6
    other[3] = 1.0 - 1e-6 if cancels else 0.0
    place = SimpleNamespace(release=lambda: None)
    accuracy = accuracy_of(run_double=lambda arguments: [arguments[0] - arguments[1]], is_step=False, place=place)
    wanted, table = (one - other).float(), tolerances(None)
    returned = wanted.clone()
    returned[3] += 1e-8

    (known,) = scales = (ErrorScale(known=True, faint=1.0, rms=1.4),)
    assert compare(returned, wanted, known, table) is not None
    (scale,) = accuracy.with_line_errors(scales, [one, other], [wanted])
    assert (compare(returned, wanted, scale, table) is None) is cancels


def of_range(run_double: Any, distribution: Distribution = DEGENERATE, outputs: Any = None) -> Any:
    x = torch.full((4, 8), 0.7)
    accuracy = accuracy_of(
        run_double=run_double,
        traits={"names": frozenset({"sqrt"})},
        usual=lambda: SimpleNamespace(tensors=[torch.full((4, 8), 2.0)]),
    )
    made = [torch.full((4, 8), 1e-4)] if outputs is None else outputs
    return accuracy._scales_of_range((ErrorScale(),), [x], made, distribution)


def test_rows_of_one_value_are_judged_by_their_range_where_digits_hang_on_a_rounding() -> None:
    (scale,) = of_range(lambda arguments: [arguments[0].double()])
    assert is_by_range(scale)
    wanted, table = torch.full((4, 8), 1e-4), tolerances(None)
    assert compare(torch.zeros(4, 8), wanted, scale, table) is None
    assert compare(torch.full((4, 8), torch.nan), wanted, scale, table) is not None
    assert compare(torch.full((4, 8), 100.0), wanted, scale, table) is not None


def test_nothing_is_known_of_rows_of_one_value_where_float64_gives_what_is_not_finite() -> None:
    assert of_range(lambda arguments: [arguments[0].double() / 0]) is None
    assert of_range(lambda arguments: [arguments[0].double()], PADDED) is None
    assert of_range(lambda arguments: [arguments[0].double()], HUGE) is None  # without a function that is periodic


def with_a_gradient(usual: torch.Tensor, names: tuple[str, ...] = ("x",)) -> ReferenceAccuracy:
    return accuracy_of(gradient_names=names, usual=lambda: SimpleNamespace(tensors=[torch.zeros(4), usual]))


def test_a_gradient_has_vanished_that_is_mostly_zero_and_usually_is_not() -> None:
    output, zeros, rand = torch.zeros(4), torch.zeros(8), torch.rand(8) + 1.0
    assert with_a_gradient(rand)._vanishes([output, zeros])
    assert not with_a_gradient(rand)._vanishes([output, rand])
    assert not with_a_gradient(zeros)._vanishes([output, zeros])
    assert not with_a_gradient(rand, ())._vanishes([output, zeros])


def test_a_gradient_that_is_nothing_by_chance_judges_nobody() -> None:
    output, zeros, rand = torch.zeros(4), torch.zeros(8), torch.rand(8) + 1.0
    exact, off = ErrorScale(known=True), ErrorScale(known=True, relative=1e-2)
    assert with_a_gradient(rand).is_rounding_noise((exact, exact), [output, zeros])
    assert with_a_gradient(rand).is_rounding_noise((exact, off), [output, rand])
    assert not with_a_gradient(rand).is_rounding_noise((off, exact), [output, rand])


def test_what_hangs_on_a_rounding_is_looked_at_where_nothing_is_known_of_choices() -> None:
    def expected(arguments: list[Any]) -> Any:
        if float(arguments[0].max()) > 1:
            raise Refused("more than one", remedy="less")
        return SimpleNamespace(tensors=[arguments[0]])

    analysis: Any = SimpleNamespace(operators=[], outputs=("y",), inputs=(), parameters=(), constants=())
    accuracy = accuracy_of(expected=expected, traits={"chooses_computed": chooses_computed(analysis)})
    x = torch.ones(8)
    assert accuracy._hangs_on_a_rounding([x], [x], is_unknown=True)
    assert not accuracy._hangs_on_a_rounding([x], [x])
    assert not accuracy._hangs_on_a_rounding([x / 2], [x / 2], is_unknown=True)
