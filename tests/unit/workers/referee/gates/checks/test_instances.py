"""Two models of a candidate's class in one process, against a real runner."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import torch

from tests.unit.workers.referee.boundary.test_runner_client import DOUBLE, against, honest
from tests.unit.workers.referee.trials import a_trial
from workers.ipc.tensors import TensorMeta
from workers.referee.comparison.output_structure import Answer
from workers.referee.comparison.tolerance import ErrorScale, tolerances
from workers.referee.gates.checks.instances import two_instances

SHARED = DOUBLE.replace("class ModelNew", "KEPT = []\n\nclass ModelNew").replace(
    "return x * self.weight", "KEPT.append(self.weight.detach().clone())\n        return x * KEPT[0]"
)
ALONE = SHARED.replace("return x * KEPT[0]", "return x * self.weight").replace(
    "KEPT.append(", "assert all(torch.equal(one, self.weight) for one in KEPT), 'one model only'\n        KEPT.append("
)


class Problem:
    """`x * weight`, whose weight may be moved for a while."""

    def __init__(self) -> None:
        self.weight = torch.arange(1.0, 5.0)
        self.is_step = False
        self.tolerances = tolerances(None)
        self.gradient_names = ()
        self.limits = None

    @contextlib.contextmanager
    def moved_parameters(self, seed: int) -> Iterator[bool]:
        before = self.weight
        self.weight = torch.rand(4, generator=torch.Generator().manual_seed(seed % 2**32)) + 5.0
        yield True
        self.weight = before

    def state(self) -> list[tuple[str, torch.Tensor]]:
        return [("weight", self.weight)]


def examined(source: str) -> tuple[Any, list[str]]:
    problem = Problem()
    with against(honest) as session:
        assert session.load(source, [4], problem.state(), seed=1, copy_state=True, threads=1, limit_s=10.0)
        state = SimpleNamespace(
            problem=problem,
            aliases=frozenset(),
            shares=frozenset(),
            mutates=frozenset(),
            scales=lambda *_given: (ErrorScale(),),
            known_scales=lambda *_given: (ErrorScale(),),
            scales_on=lambda *_given: None,
            otherwise_rounded=lambda *_given: [],
            expected=lambda arguments: Answer.of(arguments[0] * problem.weight),
            draw=lambda *_given: [torch.rand(3, 4)],
            metas=lambda _number: [TensorMeta(dtype="float32", shape=(3, 4))],
        )
        trial = a_trial(state=state, session=session)
        if "KEPT" in source:  # it has seen its first model's weights, as after the calls before
            slot = trial.slot(0, [torch.rand(3, 4)])
            session.call(slot)
        return two_instances(trial), trial.notes


def test_a_kernel_that_reads_each_models_own_weights_passes() -> None:
    finding, notes = examined(DOUBLE)
    assert finding is None
    assert not notes


def test_a_kernel_that_keeps_the_first_models_weights_for_all_is_found() -> None:
    finding, _ = examined(SHARED)
    assert finding is not None
    assert "of two models in one process" in finding.detail


def test_a_kernel_may_refuse_a_second_model_and_the_report_says_so() -> None:
    finding, notes = examined(ALONE)
    assert finding is None
    assert any("ONE MODEL IN A PROCESS" in note and "one model only" in note for note in notes)
