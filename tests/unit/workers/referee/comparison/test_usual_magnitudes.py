"""Outputs of few elements are judged against what they usually are, not against what is left of one draw's terms."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from services.domain.measurements import Baselines
from tests.doubles import an_analysis
from tests.integrity.conftest import SHEET
from tests.isolated import isolated
from workers.referee.boundary.worker_client import WorkerLink
from workers.referee.comparison.tolerance import ErrorScale, compare, tolerances, worse
from workers.referee.comparison.usual_magnitudes import resampled, usual_magnitudes
from workers.referee.errors import Refused
from workers.referee.inputs.distributions import OWN
from workers.referee.state import ReferenceState

ROW_SUM = """import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x.sum(dim=-1)

def get_inputs():
    return [torch.randn(64, 8192)]
"""
TERMS = 524288
TABLE = tolerances(None)


@pytest.fixture(scope="module")
def state() -> Iterator[ReferenceState]:
    channel: Any = None
    with isolated(ROW_SUM) as problem:
        yield ReferenceState(
            problem=problem, analysis=an_analysis(), device=SHEET, link=WorkerLink(channel), baselines=Baselines()
        )


def cancelling(seed: int = 5) -> torch.Tensor:
    """One row whose sum is 3.13, of about 724 that such rows' sums are."""
    row = torch.randn(1, TERMS, generator=torch.Generator().manual_seed(seed)).double()
    return (row + (3.13 - row.sum()) / TERMS).float()


def by_accumulators(x: torch.Tensor, count: int = 64) -> torch.Tensor:
    """The sum as an honest kernel makes it: `count` running sums in float, which are then added up."""
    sums = np.add.accumulate(x.reshape(-1, count).numpy(), axis=0)[-1]
    return torch.from_numpy(np.add.accumulate(sums)[-1:])


def judged(state: ReferenceState, x: torch.Tensor, actual: torch.Tensor) -> str | None:
    """As a call on a derived shape is judged: on its very values, beside what is known of the announced shape."""
    expected = state.expected([x]).tensors
    own = state.accuracy.scales_on([x], expected, OWN)
    known = state.scales(0, OWN)
    assert own is not None
    assert known is not None
    found = compare(actual, expected[0], worse(own[0], known[0]), TABLE)
    return None if found is None else found.detail


@pytest.mark.parametrize("seed", [0, 1, 4])
def test_an_honest_sum_is_right_where_its_terms_nearly_cancel(state: ReferenceState, seed: int) -> None:
    x = cancelling(seed)
    assert judged(state, x, by_accumulators(x)) is None


@pytest.mark.parametrize("seed", [0, 1, 4])
def test_a_sum_that_leaves_out_a_thousandth_of_its_terms_is_wrong_there(state: ReferenceState, seed: int) -> None:
    x = cancelling(seed)
    assert judged(state, x, x[:, : TERMS - TERMS // 1000].double().sum(dim=-1).float()) is not None


@pytest.mark.parametrize("off", [1e-4, 1.0])
def test_what_is_off_by_more_than_its_terms_explain_is_wrong(state: ReferenceState, off: float) -> None:
    x = cancelling()
    assert judged(state, x, x.double().sum(dim=-1).float() + off * 724) is not None


def test_the_usual_magnitude_is_that_of_several_draws() -> None:
    x = cancelling()
    (usual,) = usual_magnitudes([x], [x.sum(dim=-1)], lambda given: [given[0].sum(dim=-1)])
    assert 200 < usual[0] < 1700


def test_outputs_of_many_elements_speak_for_themselves() -> None:
    x = torch.randn(64, 128)
    assert usual_magnitudes([x], [x.sum(dim=-1)], lambda _given: pytest.fail("nothing has to be run")) == [()]


def test_an_output_that_never_varies_is_as_large_as_it_is() -> None:
    x = torch.randn(1, 4096)
    (usual,) = usual_magnitudes([x], [x.exp().sum(dim=-1)], lambda given: [given[0].exp().sum(dim=-1)])
    assert usual[0] == pytest.approx(float(x.exp().sum()), rel=0.1)


def test_draws_that_the_reference_refuses_do_not_count() -> None:
    def refuses(_given: list[Any]) -> list[torch.Tensor]:
        raise Refused("no such values", "draw others")

    assert usual_magnitudes([torch.randn(1, 64)], [torch.ones(1)], refuses) == [()]


def test_what_belongs_together_stays_together() -> None:
    x = torch.randn(512)
    twin = x + 1e-3 * torch.randn(512)
    one, other = resampled([x, twin])
    assert not torch.equal(one, x)
    assert float((one - other).abs().max()) < 0.1


def test_structure_and_what_is_no_general_number_stay() -> None:
    triangle, labels, ones = torch.randn(64, 64).tril(), torch.arange(64), torch.ones(64)
    found = resampled([triangle, labels, ones, 3, None])
    assert torch.equal(found[0], found[0].tril())
    assert found[1] is labels
    assert found[2] is ones
    assert found[3:] == [3, None]


def test_without_a_usual_magnitude_an_output_is_judged_by_its_own() -> None:
    expected = torch.tensor([3.0])
    assert compare(expected + 2e-3, expected, ErrorScale(known=True), TABLE) is not None
    assert compare(expected + 2e-3, expected, ErrorScale(known=True, usual=(700.0,)), TABLE) is not None
    assert compare(expected + 2e-4, expected, ErrorScale(known=True, usual=(700.0,)), TABLE) is None
