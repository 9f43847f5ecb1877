"""Parts of a model's state that change in place, against a real runner."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
import torch

from tests.unit.workers.referee.boundary.test_runner_client import DOUBLE, against, honest
from tests.unit.workers.referee.trials import a_reference, a_trial
from workers.ipc.tensors import TensorMeta
from workers.referee.boundary.problem_messages import StatePart
from workers.referee.comparison.output_structure import Answer
from workers.referee.comparison.tolerance import ErrorScale, tolerances
from workers.referee.gates.checks import parameter_use
from workers.referee.gates.checks.parameter_use import after_a_part_changed
from workers.referee.trial import Trial

SCALED = DOUBLE.replace("torch.zeros(n))", "torch.zeros(n))\n        self.register_buffer('scale', torch.ones(n))")
EACH_TIME = SCALED.replace("return x * self.weight", "return x * (self.weight * self.scale)")
BY_WEIGHT = SCALED.replace(
    "return x * self.weight",
    "if getattr(self, 'version', None) != self.weight._version:\n"
    "            self.version, self.folded = self.weight._version, self.weight.detach() * self.scale\n"
    "        return x * self.folded",
)


class Problem:
    """`x * weight * scale`, where the scale alone is not trained."""

    def __init__(self) -> None:
        self.tensors = {"weight": torch.arange(1.0, 5.0), "scale": torch.ones(4)}
        self.is_step = False
        self.has_other_settings = False
        self.tolerances = tolerances(None)
        self.gradient_names = ()
        self.limits = None

    @contextlib.contextmanager
    def another_model(self, _seed: int, part: StatePart) -> Iterator[bool]:
        before, name = self.tensors, "scale" if part is StatePart.FROZEN else "weight"
        self.tensors = {**before, name: torch.rand(4) + 2.0}
        yield True
        self.tensors = before

    def state(self) -> list[tuple[str, torch.Tensor]]:
        return list(self.tensors.items())

    def expected(self, arguments: list[torch.Tensor]) -> Answer:
        return Answer.of(arguments[0] * self.tensors["weight"] * self.tensors["scale"])


def remarks(source: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is remarked on a kernel that is right with each state from the start."""
    monkeypatch.setattr(Trial, "another", contextlib.nullcontext)
    monkeypatch.setattr(parameter_use, "_tried", lambda *_given: None)
    problem = Problem()
    with against(honest) as session:
        assert session.load(source, [4], problem.state(), seed=1, copy_state=True, threads=1, limit_s=10.0)
        state = a_reference(
            problem=problem,
            aliases=frozenset(),
            shares=frozenset(),
            mutates=frozenset(),
            scales=lambda *_given: (ErrorScale(),),
            scales_on=lambda *_given: None,
            with_line_errors=lambda scales, *_given: scales,
            otherwise_rounded=lambda *_given: [],
            expected=problem.expected,
            draw=lambda *_given: [torch.rand(3, 4)],
            metas=lambda _number: [TensorMeta(dtype="float32", shape=(3, 4))],
        )
        trial = a_trial(state=state, session=session)
        session.call(trial.slot(0, [torch.rand(3, 4)]))
        assert after_a_part_changed(trial) is None
        return trial.notes


def test_a_kernel_that_reads_all_of_its_state_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert remarks(EACH_TIME, monkeypatch) == []


def test_a_kernel_that_looks_at_its_weight_only_is_remarked_on(monkeypatch: pytest.MonkeyPatch) -> None:
    (told,) = remarks(BY_WEIGHT, monkeypatch)
    assert told.startswith("PROVEN FOR WEIGHTS THAT DO NOT CHANGE: once its buffers and frozen parameters had changed")
