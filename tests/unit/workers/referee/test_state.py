"""What the referee knows of a problem, and its device, which others use too and a candidate may have broken."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from services.domain.errors import InfrastructureError
from workers.ipc.placement import TensorDevice
from workers.ipc.tensors import TensorMeta
from workers.referee.comparison.output_structure import Answer
from workers.referee.comparison.tolerance import ErrorScale
from workers.referee.errors import Refused
from workers.referee.inputs.distributions import (
    DEGENERATE,
    EXPANDED_COTANGENTS,
    HUGE,
    OWN,
    Distribution,
)
from workers.referee.state import DeviceCare, ReferenceState
from workers.runner.step import GraphUse


class Card(TensorDevice):
    is_gpu = True

    def __init__(self, *, works: bool) -> None:
        super().__init__()
        self.works = works
        self.tried = 0

    def check_health(self) -> None:
        self.tried += 1
        if not self.works:
            raise InfrastructureError("the GPU computes wrongly")


def test_the_cpu_is_neither_held_nor_tried() -> None:
    care = DeviceCare(TensorDevice(), hold=lambda: pytest.fail("held"))
    care.doubtful = True
    assert care.take() == 0.0


def test_a_gpu_is_held_and_tried_only_after_a_breakdown() -> None:
    card = Card(works=True)
    care = DeviceCare(card, hold=lambda: 1.5)
    assert care.take() == 1.5
    assert card.tried == 0
    care.doubtful = True
    care.take()
    care.take()
    assert card.tried == 1


def test_a_gpu_that_fails_the_trial_is_nobody_else_s_to_use() -> None:
    care = DeviceCare(Card(works=False), hold=lambda: 0.0)
    care.doubtful = True
    for _ in range(2):
        with pytest.raises(InfrastructureError, match="computes wrongly"):
            care.take()


def test_tensors_that_the_reference_s_gradients_do_not_need_may_be_overwritten() -> None:
    tried = list[GraphUse | None]()

    def expected(arguments: list[Any], use: GraphUse | None = None) -> Answer:
        tried.append(use)
        if use is not None and use.overwritten == (0,):
            raise Refused("modified by an inplace operation", "")
        return Answer.of(arguments[0] * (2.0 if use is not None and use.overwritten_outputs else 1.0))

    state: Any = SimpleNamespace(_overwritable=None, draw=lambda *_given: [torch.ones(3)], expected=expected)
    assert ReferenceState.overwritable(state, 2, 1) == ((1,), ())
    assert ReferenceState.overwritable(state, 2, 1) == ((1,), ())
    assert len(tried) == 4


@pytest.mark.parametrize("distribution", [OWN, EXPANDED_COTANGENTS])
def test_errors_are_measured_on_arguments_that_lie_as_in_the_calls(distribution: Distribution) -> None:
    asked = list[int]()

    def make_inputs(_number: int, _seed: int, layout: int) -> list[torch.Tensor]:
        asked.append(layout)
        return [torch.rand(4)]

    state: Any = object.__new__(ReferenceState)
    state.problem = SimpleNamespace(make_inputs=make_inputs, limits=None)
    state._metas = {}
    state.expected = lambda _arguments: SimpleNamespace(tensors=[torch.zeros(4)])
    state.accuracy = SimpleNamespace(fit_scales=lambda *_given: (), can_judge=lambda *_given: True)
    state.metas = lambda _number: [TensorMeta.of(torch.zeros(4))]
    assert state.measured_scales(0, distribution) == ()
    assert asked == [distribution.layout]


def of_a_step(**more: Any) -> Any:
    state: Any = object.__new__(ReferenceState)
    state.problem = SimpleNamespace(
        gradient_names=("`x`",), is_step=True, tolerances={}, limits=None, forward_arguments=lambda given: given[:1]
    )
    state.metas = lambda _number: [TensorMeta.of(torch.ones(4, 8))] * 2
    for name, value in more.items():
        setattr(state, name, value)
    return state


def test_cotangents_stay_where_values_are_about_a_forward() -> None:
    x, cotangent = torch.randn(64, 8), torch.randn(64, 8)
    changed = of_a_step().changed([x, cotangent, 0], DEGENERATE)
    assert not torch.equal(changed[0], x)
    assert torch.equal(changed[1], cotangent)
    assert not torch.equal(of_a_step().changed([x, cotangent, 0], HUGE)[1], cotangent)


def test_how_exact_a_forward_is_does_not_hang_on_gradients() -> None:
    def expected(_arguments: Any, use: GraphUse) -> Any:
        assert use.gradients == ()
        return Answer.of((torch.ones(4, 8), torch.zeros(4, 8)))

    exact, cancelled = ErrorScale(known=True), ErrorScale(known=True, relative=0.1)
    accuracy = SimpleNamespace(can_judge=lambda *_given: True, scales_on=lambda *_given, **_use: (exact, cancelled))
    state = of_a_step(expected=expected, accuracy=accuracy)
    assert state.forward_scales([torch.ones(4, 8)], DEGENERATE) == (exact, cancelled)
    accuracy.scales_on = lambda *_given, **_use: (cancelled, exact)
    assert state.forward_scales([torch.ones(4, 8)], DEGENERATE) is None
