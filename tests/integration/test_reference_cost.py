"""A reference that does something beside its operators is slow; one of many operators is not."""

import time
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from services.domain.problems import Problem
from tests.isolated import isolated
from workers.referee.baselines.overhead import ReferenceCost
from workers.referee.boundary.runner_client import TimedCall
from workers.referee.gates.checks.reference_cost import reference_cost
from workers.referee.problem.reference_problem import ReferenceProblem
from workers.referee.timing.single_calls import ProtocolCost

pytestmark = pytest.mark.integration


SOURCE = """import time

import torch

class Model(torch.nn.Module):
    def forward(self, x):
        {extra}
        return torch.relu(x) + 1

def get_inputs():
    return [torch.randn(64, 64)]
"""


def cost_of(extra: str) -> ReferenceCost:
    """What is found of a reference whose baseline is the reference itself, run here."""
    source = SOURCE.replace("{extra}", extra)
    baseline = ReferenceProblem(Problem(name="p", source=source, path="p.py"))

    def call(*_given: object) -> TimedCall:
        started = time.perf_counter()
        baseline.run(arguments)
        return TimedCall(wall_s=time.perf_counter() - started, claimed_s=0.0)

    arguments = baseline.make_inputs(0, 1)
    side = SimpleNamespace(session=SimpleNamespace(call=call), slot=None, model="plain")
    bench = SimpleNamespace(side=lambda *_given: side, cost=lambda _side: ProtocolCost())
    with isolated(source) as problem:
        state: Any = SimpleNamespace(
            problem=problem, analysis=SimpleNamespace(trace_error=None), bench=bench, place=problem.place, threads=1,
            reference_costs={}, draw=lambda *_given: arguments, metas=lambda _number: [],
        )  # fmt: skip
        found = reference_cost(state, "eager")
    assert found is not None
    return found


@pytest.mark.parametrize(
    "extra",
    ["time.sleep(0.005)", "sum(range(500_000))", "x.numpy(); time.sleep(0.005)"],
    ids=["waits", "counts", "waits, and has no graph"],
)
def test_a_reference_that_takes_longer_than_its_operators_is_slow(extra: str) -> None:
    found = cost_of(extra)
    assert found.is_slow
    assert "reference is slow: a call takes" in str(found)


@pytest.mark.parametrize(
    "extra", ["pass", "x = x * 0.5; x = x + 1; x = x * 2", "x.numpy()"], ids=["plain", "more operators", "no graph"]
)
def test_one_that_does_what_its_operators_do_is_not(extra: str) -> None:
    assert not cost_of(extra).is_slow


def test_threads_are_as_they_were() -> None:
    before = torch.get_num_threads()
    cost_of("pass")
    assert torch.get_num_threads() == before
