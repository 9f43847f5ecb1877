"""Parameters that no initialisation draws, against a real runner."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
import torch

from services.domain.gates import GateStatus
from tests.unit.workers.referee.boundary.test_runner_client import DOUBLE, against, honest
from tests.unit.workers.referee.trials import a_trial
from workers.referee.boundary.problem_messages import ModelVariant
from workers.referee.comparison.output_structure import Answer
from workers.referee.comparison.tolerance import ErrorScale, tolerances
from workers.referee.gates.checks import wide_parameters
from workers.referee.gates.checks.wide_parameters import FAINT, with_wide_parameters
from workers.referee.gates.finding import GateFinding
from workers.referee.inputs.distributions import Distribution, drawn
from workers.referee.trial import Trial

NEAR_ONE = DOUBLE.replace("x * self.weight", "x * self.weight.clamp(max=4.5)")
REFUSES = DOUBLE.replace("return x", "assert self.weight.max() < 4.5\n        return x")
ONCE = DOUBLE.replace(
    "return x * self.weight",
    "self.kept = getattr(self, 'kept', self.weight.detach().clone())\n        return x * self.kept",
)


class State:
    """`x * weight`, which is exact up to some `width`."""

    def __init__(self, width: float, *, is_step: bool) -> None:
        self.weight, self.width, self.is_exact = torch.ones(4), width, True
        self.problem = SimpleNamespace(
            is_step=is_step,
            state=lambda: [("weight", self.weight)],
            wide_parameters=self.wide,
            tolerances=tolerances(None),
            gradient_names=(),
            has_other_settings=False,
            limits=None,
        )
        self.analysis = SimpleNamespace(operators=(), other_forms=(), outputs=())
        self.is_large = False
        self.traits = SimpleNamespace(knows_ties=True, chooses_computed=False)
        self.accuracy = SimpleNamespace(
            steady_answer=self.steady_answer,
            scales_on=lambda *_given: None,
            with_line_errors=lambda scales, *_given: scales,
            otherwise_rounded=lambda *_given: [],
        )
        self.aliases = self.shares = self.mutates = frozenset[int]()
        self.place = SimpleNamespace(is_gpu=False)
        self.tried: list[tuple[ModelVariant, float]] = []

    @contextlib.contextmanager
    def wide(self, _seed: int, variant: ModelVariant, width: float, *, signed: bool, zeros: bool) -> Iterator[bool]:
        self.tried.append((variant, width))
        self.weight, self.is_exact = torch.tensor([5.0, -5.0, 1.0, 0.0]) * width, width <= self.width
        yield signed or not zeros
        self.weight, self.is_exact = torch.ones(4), True

    def expected(self, arguments: list[torch.Tensor]) -> Answer:
        return Answer.of(arguments[0] * self.weight)

    def steady_answer(
        self, arguments: list[torch.Tensor], _kind: Distribution
    ) -> tuple[Answer, tuple[ErrorScale, ...]] | None:
        return (self.expected(arguments), (ErrorScale(),)) if self.is_exact else None

    def draw(self, *_given: object) -> list[torch.Tensor]:
        return [torch.rand(3, 4) + 0.5]

    def changed(self, arguments: list[torch.Tensor], kind: Distribution) -> list[torch.Tensor]:
        return list(drawn(arguments, kind))

    def known_scales(self, _kind: Distribution) -> tuple[ErrorScale, ...]:
        return (ErrorScale(),)


def judged(
    source: str, monkeypatch: pytest.MonkeyPatch, width: float = 1.0, *, is_step: bool = False
) -> tuple[GateFinding | None, State, Trial]:
    """What is found, with a new process in which the weights are as they are from the start."""
    state = State(width, is_step=is_step)

    @contextlib.contextmanager
    def another(trial: Trial) -> Iterator[SimpleNamespace]:
        with against(honest) as session:

            def build(**_given: object) -> bool:
                return session.load(
                    source, [4], state.problem.state(), seed=1, copy_state=True, threads=1, limit_s=10.0
                )

            other = a_trial(state=state, session=session)
            other.start = lambda: None  # type: ignore[method-assign]
            other.build_model = build  # type: ignore[method-assign]
            yield other  # type: ignore[misc]

    monkeypatch.setattr(Trial, "another", another)
    monkeypatch.setattr(wide_parameters, "chooses_computed", lambda _analysis: False)
    with against(honest) as session:
        assert session.load(source, [4], state.problem.state(), seed=1, copy_state=True, threads=1, limit_s=10.0)
        trial = a_trial(state=state, session=session)
        wide_parameters._judged(trial, _own_call(state), "first")
        return with_wide_parameters(trial), state, trial


def _own_call(state: State) -> wide_parameters.Call:
    arguments = state.draw()
    return wide_parameters.Call(arguments, wide_parameters.AS_DRAWN, state.expected(arguments), (ErrorScale(),))


def test_a_kernel_that_takes_any_weights_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    finding, state, trial = judged(DOUBLE, monkeypatch)
    assert finding is None
    assert trial.notes == []
    assert state.tried == [(ModelVariant.SPREAD, 1.0), (ModelVariant.GROWN, 1.0)]


def test_a_kernel_for_weights_as_they_are_drawn_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    finding, _, _ = judged(NEAR_ONE, monkeypatch)
    assert finding is not None
    assert finding.status is GateStatus.FAILED
    assert finding.detail.startswith("with parameters spread over a wide range (matrices near rank one), own")


def test_less_of_the_range_is_tried_where_the_reference_is_not_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    finding, state, _ = judged(NEAR_ONE, monkeypatch, 0.5)
    assert finding is None
    assert [width for _, width in state.tried] == [1.0, 1.0, 0.5] * 2


def test_a_refusal_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judged(REFUSES, monkeypatch)[0] is None


def test_weights_may_stay_as_they_are_where_no_gradients_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    finding, _, trial = judged(ONCE, monkeypatch)
    assert finding is None
    (told,) = trial.notes
    assert told.startswith("PROVEN FOR WEIGHTS THAT DO NOT CHANGE: with parameters spread")


def test_weights_change_with_each_step(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judged(ONCE, monkeypatch, is_step=True)[0] is not None


def test_some_rows_are_faint_and_some_close_to_another_argument() -> None:
    torch.manual_seed(0)
    own = torch.randn(400, 16)
    changed = wide_parameters._some_faint(own)
    is_faint = (changed == own * FAINT).all(dim=1)
    assert 20 < int(is_faint.sum()) < 90
    assert torch.equal(changed[~is_faint], own[~is_faint])
    first, second = wide_parameters._partly_close([own, torch.randn(400, 16)])
    near = (second - first).abs().amax(dim=1) < 0.1
    assert torch.equal(first, own)
    assert 100 < int(near.sum()) < 300


def test_rows_keep_the_order_that_all_of_them_have() -> None:
    ascending = torch.arange(64.0)
    _, second = wide_parameters._partly_close([ascending, ascending * 1.5])
    assert bool((second.diff() >= 0).all())


def test_what_the_problem_promises_is_kept() -> None:
    state = State(1.0, is_step=False)
    state.problem.limits = SimpleNamespace(kept=lambda own, near: own)
    own = [torch.randn(64, 4), torch.randn(64, 4)]
    made = wide_parameters._of_rows(state, own)  # type: ignore[arg-type]
    is_own = (made[1] == own[1]).all(dim=1)
    assert bool((made[1][~is_own] == own[1][~is_own] * FAINT).all())


def test_arguments_that_are_not_alike_stay() -> None:
    given = [torch.randn(4, 8), torch.randn(8, 4)]
    assert all(one is other for one, other in zip(given, wide_parameters._partly_close(given), strict=True))


def test_an_output_tells_where_the_reference_is_exact_and_something_is_left() -> None:
    output = torch.ones(4)
    assert wide_parameters._is_exact(ErrorScale(relative=1e-7, usual=(1.0,) * 4), output)
    assert not wide_parameters._is_exact(ErrorScale(relative=1e-3), output)
    assert not wide_parameters._is_exact(ErrorScale(usual=(9.0,) * 4), output)
