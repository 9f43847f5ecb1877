"""A kernel need not be able to do what nobody announced, and is told so."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.unit.workers.referee.boundary.test_runner_client import against, frozen, honest, loaded  # noqa: F401 - a fixture
from tests.unit.workers.referee.gates.checks.test_calls import WEIGHT, trial_of
from workers.ipc.tensors import TensorMeta
from workers.referee.boundary.runner_client import RunnerSession
from workers.referee.comparison.output_structure import Answer
from workers.referee.gates.generalization import _on_derived
from workers.referee.inputs.constraints import Limits


def trial_on(session: RunnerSession, answer: torch.Tensor) -> Any:
    """The session's candidate multiplies by `WEIGHT`, the reference by `answer` at any width."""
    trial = trial_of(session)
    problem, state = trial.state.problem, trial.state
    trial.draw = lambda *_given: [torch.rand(80, 4)]
    problem.forward_arguments = problem.with_cotangents = list
    problem.limits = Limits()
    problem.run = lambda arguments: Answer.of(arguments[0] * _as_wide(answer, arguments[0].shape[1]))
    state.metas = lambda _number: [TensorMeta.of(WEIGHT)]
    state.expected = problem.run
    state.usable = lambda _number: ()
    state.left_out = ()
    state.chooses = problem.is_step = False
    trial.is_called_on = True  # an ordinary call takes more of a state than there is here
    return trial


def _as_wide(answer: torch.Tensor, width: int) -> torch.Tensor:
    """The factors of a width; those of width one are broadcast, as the candidate's are."""
    return answer if width == 1 else answer[torch.arange(width) % 4]


@pytest.mark.usefixtures("frozen")
def test_who_is_wrong_on_derived_shapes_is_told_that_a_kernel_may_raise() -> None:
    with against(honest) as session:
        assert loaded(session, [("weight", WEIGHT)])
        finding = _on_derived(trial_on(session, WEIGHT + 1.0), [])
    assert finding is not None
    assert finding.detail.startswith("derived shapes ")
    assert finding.detail.endswith(". A kernel may raise an exception for shapes that it does not support")


@pytest.mark.usefixtures("frozen")
def test_who_raises_on_derived_shapes_passes() -> None:
    notes: list[str] = []
    with against(honest) as session:
        assert loaded(session, [("weight", WEIGHT)])
        assert _on_derived(trial_on(session, WEIGHT), notes) is None
    assert any("refused with" in note for note in notes)
    assert any(note.startswith("passed on derived shapes ") for note in notes)
