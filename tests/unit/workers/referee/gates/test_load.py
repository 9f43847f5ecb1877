"""The seed of a problem's weights is nobody's, or no longer that of the weights."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from services.domain.gates import GateStatus
from tests.isolated import isolated
from tests.unit.workers.referee.trials import a_trial
from workers.referee.boundary.isolated_problem import IsolatedProblem
from workers.referee.gates import load
from workers.referee.gates.checks import parameter_use
from workers.referee.state import ReferenceState
from workers.referee.trial import Trial

SOURCE = """import torch

BACKWARD = True

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x):
        return self.linear(x)

def get_inputs():
    return [torch.randn(4, 8, requires_grad=True)]

def get_init_inputs():
    return []
"""


class Loaded:
    """A candidate's process that matches the reference's parameters, or does not."""

    def __init__(self, *, matches: bool) -> None:
        self.seeds: list[int] = []
        self._matches = matches
        self.missing = () if matches else ("linear.weight",)

    def load(self, *_given: object, seed: int, copy_state: bool, **_named: object) -> bool:
        self.seeds.append(seed)
        return self._matches or not copy_state


def trial_of(problem: IsolatedProblem, session: Loaded) -> Trial:
    link = SimpleNamespace(spawn=lambda *_given, **_named: SimpleNamespace(session=session))
    return a_trial(state=SimpleNamespace(problem=problem, threads=1, link=link))


def loaded(problem: IsolatedProblem, session: Loaded) -> str:
    return load.examine(trial_of(problem, session)).detail


def weight(problem: IsolatedProblem) -> torch.Tensor:
    return dict(problem.state())["linear.weight"]


@pytest.fixture
def problem() -> Iterator[IsolatedProblem]:
    with isolated(SOURCE) as one:
        yield one


def test_a_candidate_whose_parameters_match_is_never_given_the_seed(problem: IsolatedProblem) -> None:
    session = Loaded(matches=True)
    loaded(problem, session)
    assert problem.init_seed not in session.seeds
    assert not problem.seed_is_out


def test_the_seed_that_a_candidate_was_given_is_not_that_of_the_next_one_s_weights(problem: IsolatedProblem) -> None:
    session = Loaded(matches=False)
    assert "built under the reference's seed" in loaded(problem, session)
    given, before = problem.init_seed, weight(problem)
    assert session.seeds[-1] == given
    restarts: list[bool] = []
    state: Any = SimpleNamespace(problem=problem, bench=SimpleNamespace(restart=lambda: restarts.append(True)))

    for _ in range(2):
        ReferenceState.keep_weights_secret(state)

    assert restarts == [True], "the baselines' process has the weights, too; once is enough"
    assert problem.init_seed != given
    assert not torch.equal(weight(problem), before)
    assert problem.is_step
    assert len(problem.run(problem.make_inputs(0, 1)).tensors) == 4, "the output and the gradients"


def test_who_cannot_be_given_other_parameters_is_suspicious(problem: IsolatedProblem) -> None:
    finding = parameter_use._tried(trial_of(problem, Loaded(matches=False)), [])
    assert finding is not None
    assert finding.status is GateStatus.SUSPICIOUS
    assert "Register the reference's" in finding.detail


def test_a_parameter_that_has_another_shape_in_the_candidate_is_named_and_suspicious(problem: IsolatedProblem) -> None:
    finding = load.examine(trial_of(problem, Loaded(matches=False)))
    assert finding.status is GateStatus.SUSPICIOUS
    assert "`linear.weight`" in finding.detail
