import math
from collections.abc import Callable

import pytest
import torch

from services.domain import codec
from services.domain.evaluations import EvaluationReport
from services.domain.gates import ErrorCheck, GateName, OutputError
from tests.doubles.builders import a_report
from workers.referee.comparison.error_log import CACHED, Account, ErrorLog, ulp_distance, worst_element
from workers.referee.comparison.tolerance import ErrorScale, error_scale, examine, tolerances

TABLE = tolerances(None)
EXACT = ErrorScale()


def draw(*shape: int, kind: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(5), dtype=torch.float64).to(kind)


def account_of(actual: torch.Tensor, expected: torch.Tensor, scale: ErrorScale = EXACT) -> Account:
    account = examine(actual, expected, scale, TABLE).account
    assert account is not None
    return account


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("value", [1.0, -1.0, 0.75, 1024.0])
def test_the_next_representable_number_is_one_unit_in_the_last_place_away(kind: torch.dtype, value: float) -> None:
    one = torch.tensor([value], dtype=kind)
    beyond = torch.nextafter(one, torch.tensor([math.inf], dtype=kind))
    assert ulp_distance(one, one) == 0
    assert ulp_distance(one, beyond) == ulp_distance(beyond, one) == 1


def test_units_are_counted_across_zero_whose_signs_are_one_number() -> None:
    tiniest = torch.tensor([5e-324], dtype=torch.float64)
    assert ulp_distance(torch.tensor([0.0]), torch.tensor([-0.0])) == 0
    assert ulp_distance(tiniest, -tiniest) == 2
    assert ulp_distance(torch.tensor([1]), torch.tensor([2])) is None


@pytest.mark.parametrize("shape", [(7, 9), (3, CACHED), (2 * CACHED + 5,)])
def test_the_worst_element_is_the_one_with_the_largest_share_of_its_own_tolerance(shape: tuple[int, ...]) -> None:
    expected = draw(*shape).reshape(-1)
    expected[1], expected[-2] = 0.001, 1000.0
    actual = expected.clone()
    actual[1] += 1e-4  # the smaller error, of the smaller allowance
    actual[-2] += 1e-2
    shaped = [tensor.reshape(shape) for tensor in (actual, expected)]
    worst = worst_element(shaped[0], shaped[1], shaped[0] - shaped[1], 1e-4, 1e-3)
    assert shaped[1][worst.at].item() == pytest.approx(0.001)
    assert worst.absolute == pytest.approx(1e-4, rel=1e-3)
    assert worst.relative == pytest.approx(0.1, rel=1e-3)
    assert worst.allowed == pytest.approx(1e-4 + 1e-6)
    assert worst.share == pytest.approx(1e-4 / 1.01e-4, rel=1e-3)


@pytest.mark.parametrize("turn", [lambda tensor: tensor, lambda tensor: tensor.mT])
def test_its_place_is_right_in_whatever_order_memory_lies(turn: Callable[[torch.Tensor], torch.Tensor]) -> None:
    expected = draw(40, 30)
    actual = expected.clone()
    actual[11, 5] += 0.01
    found = account_of(turn(actual), turn(expected)).worst
    assert found is not None
    assert turn(expected)[found.at].item() == expected[11, 5].item()


def test_an_account_has_the_largest_error_and_the_check_that_came_closest() -> None:
    expected = draw(64, 64)
    actual = expected + 1e-6
    account = account_of(actual, expected, error_scale(expected, expected.double()))
    assert account.max_abs == pytest.approx(float((actual - expected).abs().max()))
    assert account.share is not None
    assert account.relative is not None
    assert account.bound is not None
    assert account.relative / account.bound <= account.share
    assert 0 < account.share < 1
    assert account.check is not None


def test_a_mismatch_has_a_share_above_one() -> None:
    expected = draw(64, 64)
    compared = examine(expected * 1.01, expected, EXACT, TABLE)
    assert compared.mismatch is not None
    assert compared.account is not None
    assert compared.account.share is not None
    assert compared.account.share > 1


def test_equal_outputs_are_off_by_nothing() -> None:
    for tensor in (draw(8, 8), torch.arange(9), torch.tensor([True, False])):
        account = account_of(tensor.clone(), tensor)
        assert (account.max_abs, account.share, account.check) == (0.0, 0.0, None)


def test_whole_numbers_have_steps_and_no_units_in_the_last_place() -> None:
    account = account_of(torch.tensor([1, 2, 7]), torch.tensor([1, 2, 3]))
    assert account.max_abs == 4.0
    assert account.worst is None
    assert account.share is not None
    assert account.share > 1


def test_what_is_not_finite_has_no_figure() -> None:
    account = account_of(torch.tensor([math.nan, 2.0]), torch.tensor([1.0, 2.0]))
    assert (account.max_abs, account.share, account.check) == (None, None, ErrorCheck.FINITE)


def test_infinities_where_expected_are_left_out_of_the_figures() -> None:
    expected = torch.tensor([math.inf, 1.0, -math.inf])
    actual = torch.tensor([math.inf, 1.0 + 2**-22, -math.inf])
    account = account_of(actual, expected)
    assert account.worst is not None
    assert (account.worst.at, account.worst.ulp) == ((1,), 2)


def test_every_figure_of_a_hopeless_output_is_a_number_that_json_has() -> None:
    account = account_of(torch.full((8,), 3e38), torch.zeros(8))
    log = ErrorLog(gate=GateName.CORRECTNESS)
    log.note("own values", [("output", account)])
    assert "inf" not in codec.dumps(log.entries()[0])


def test_the_log_keeps_the_worst_of_a_kind_of_draw_and_sorts_by_the_share_used() -> None:
    expected = draw(32, 32)
    log = ErrorLog(gate=GateName.CORRECTNESS)
    for error in (1e-7, 3e-6, 1e-6):
        log.note("own values", [("output", account_of(expected + error, expected))])
    log.note("large values", [("output", account_of(expected + 2e-5, expected))])
    large, own = log.entries()
    assert (large.draw, large.comparisons) == ("large values", 1)
    assert (own.draw, own.comparisons) == ("own values", 3)
    assert own.max_abs == pytest.approx(3e-6, rel=0.1)


def test_nothing_is_logged_between_gates() -> None:
    log = ErrorLog()
    log.note("tuning", [("output", account_of(draw(4), draw(4)))])
    assert log.entries() == ()


def test_reports_from_before_errors_were_recorded_still_load() -> None:
    data = codec.to_data(a_report())
    del data["errors"]
    assert codec.from_data(EvaluationReport, data).errors is None


def test_errors_survive_being_stored() -> None:
    log = ErrorLog(gate=GateName.CORRECTNESS)
    log.note("tiny values", [("output", account_of(draw(9) + 1e-6, draw(9)))])
    entry = log.entries()[0]
    assert codec.loads(OutputError, codec.dumps(entry)) == entry
