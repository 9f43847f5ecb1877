"""Models that are built with entries of INIT_SETS: they are trained, too, and meet ties; against real runners."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from tests.unit.workers.referee.boundary.test_runner_client import DOUBLE, against, honest
from tests.unit.workers.referee.trials import a_reference, a_trial
from workers.ipc.tensors import TensorMeta
from workers.referee.comparison.output_structure import Answer
from workers.referee.comparison.tolerance import ErrorScale, tolerances
from workers.referee.gates.checks import parameter_use
from workers.referee.gates.checks.parameter_use import with_other_settings
from workers.referee.inputs.distributions import OWN, PADDED, Distribution
from workers.referee.trial import Trial

READS = DOUBLE.replace("x * self.weight", "x / x.abs().sum(dim=-1, keepdim=True).clamp(min=1e-30) * self.weight")
IGNORES = READS.replace(" * self.weight", "")
KEEPS = READS.replace(
    "return ",
    "if not hasattr(self, 'kept'):\n            self.kept = self.weight.detach().clone()\n        return ",
).replace("* self.weight", "* self.kept")
WITHOUT_ZEROS = READS.replace(".clamp(min=1e-30)", "")
REFUSES_ZEROS = WITHOUT_ZEROS.replace("return x", "assert x.any(dim=-1).all()\n        return x")


class Problem:
    """Rows of sum one times a weight, which is one before any training."""

    def __init__(self) -> None:
        self.weight = torch.ones(4)
        self.init_sets = 1
        self.is_step = False
        self.has_other_settings = True
        self.tolerances = tolerances(None)
        self.gradient_names = ()
        self.limits = None
        self.forward_arguments = list

    def other_settings(self, _number: int) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    @contextlib.contextmanager
    def other_parameters(self) -> Iterator[bool]:
        before, self.weight = self.weight, torch.rand(4) + 2.0
        yield True
        self.weight = before

    def ordinary_parameters(self, _seed: int, *, signed: bool) -> contextlib.AbstractContextManager[bool]:
        return self.other_parameters()

    def moved_parameters(self, _seed: int) -> contextlib.AbstractContextManager[bool]:
        return self.other_parameters()

    def state(self) -> list[tuple[str, torch.Tensor]]:
        return [("weight", self.weight)]

    def expected(self, arguments: list[torch.Tensor]) -> Answer:
        (x,) = arguments
        return Answer.of(x / x.abs().sum(dim=-1, keepdim=True).clamp(min=1e-30) * self.weight)


def a_draw(_number: int, kind: Distribution) -> list[Any]:
    x = torch.rand(3, 4) + 0.1
    return [x if kind is OWN else x * torch.tensor([[1.0], [0.0], [1.0]])]


def judged(source: str, monkeypatch: pytest.MonkeyPatch, *, matter: bool = False) -> tuple[str | None, list[str]]:
    problem = Problem()
    state = a_reference(
        problem=problem,
        aliases=frozenset(),
        shares=frozenset(),
        mutates=frozenset(),
        is_large=False,
        takes_ties=True,
        known_scales=lambda *_given: (ErrorScale(),),
        scales_on=lambda *_given: (ErrorScale(),),
        with_line_errors=lambda scales, *_given: scales,
        is_steady_on=lambda *_given: True,
        measured_scales=lambda _number, kind, _metas: (ErrorScale(),) if kind is PADDED else None,
        ties_matter=lambda _arguments: matter,
        can_judge=lambda *_given: True,
        otherwise_rounded=lambda *_given: [],
        other_choices=lambda *_given: [],
        expected=problem.expected,
        draw=a_draw,
        metas=lambda _number: [TensorMeta(dtype="float32", shape=(3, 4))],
    )

    @contextlib.contextmanager
    def another(_trial: Trial) -> Iterator[Trial]:
        with against(honest) as session:
            other = a_trial(state=state, session=session)
            yield other
            other.close_slots()

    def build(trial: Trial, **_given: Any) -> bool:
        return trial.session.load(source, [4], problem.state(), seed=1, copy_state=True, threads=1, limit_s=10.0)

    monkeypatch.setattr(Trial, "another", another)
    monkeypatch.setattr(Trial, "start", lambda _trial: None)
    monkeypatch.setattr(Trial, "build_model", build)
    monkeypatch.setattr(parameter_use, "_mixed", lambda *_given: None)
    monkeypatch.setattr(parameter_use, "with_settings_beside", lambda *_given: None)
    trial = a_trial(state=state)
    finding = with_other_settings(trial)
    return None if finding is None else finding.detail, trial.notes


def test_a_kernel_that_reads_its_weight_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judged(READS, monkeypatch) == (None, [])


def test_a_weight_that_is_not_read_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = judged(IGNORES, monkeypatch)
    assert found is not None
    assert found.startswith("built with INIT_SETS[0], once its parameters and statistics of one value had changed")


def test_a_kernel_that_keeps_its_weight_is_remarked_on(monkeypatch: pytest.MonkeyPatch) -> None:
    found, notes = judged(KEEPS, monkeypatch)
    assert found is None
    (note,) = notes
    assert note.startswith("PROVEN FOR WEIGHTS THAT DO NOT CHANGE")
    assert note.endswith("(built with INIT_SETS[0])")


def test_rows_of_zeros_are_tried_where_ties_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = judged(WITHOUT_ZEROS, monkeypatch)
    assert found is not None
    assert found.startswith("built with INIT_SETS[0], padded values: ")
    assert judged(WITHOUT_ZEROS, monkeypatch, matter=True) == (None, [])


def test_a_kernel_may_refuse_rows_of_zeros(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judged(REFUSES_ZEROS, monkeypatch) == (None, [])
