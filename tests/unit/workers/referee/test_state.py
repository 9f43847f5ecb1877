"""What the referee knows of a problem, and its device, which others use too and a candidate may have broken."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from services.domain.errors import InfrastructureError
from workers.ipc.placement import TensorDevice
from workers.referee.comparison.output_structure import Answer
from workers.referee.comparison.tolerance import ErrorScale, examine, tolerances
from workers.referee.errors import Refused
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


@pytest.mark.parametrize("ties", [True, False])
def test_a_value_near_the_middle_of_two_8_bit_numbers_is_many_elements_among_ties_alone(ties: bool) -> None:
    wanted = torch.full((64, 64), 2.0).to(torch.float8_e4m3fn)
    returned = wanted.clone()
    returned[:2] = torch.tensor(2.25).to(torch.float8_e4m3fn)
    state: Any = None  # nothing of the problem is asked for 8 bits

    scale = ReferenceState.with_depth(state, ErrorScale(), wanted, ties=ties)

    assert (examine(returned, wanted, scale, tolerances(None)).mismatch is None) is ties
    returned[0, 0] = torch.tensor(3.0).to(torch.float8_e4m3fn)
    assert examine(returned, wanted, scale, tolerances(None)).mismatch is not None


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


@pytest.mark.parametrize("function", [torch.argmax, torch.sum])
def test_ties_matter_where_places_are_told(function: Any) -> None:
    state: Any = object.__new__(ReferenceState)
    state.problem = SimpleNamespace(run_double=lambda arguments: [function(arguments[0], dim=-1)])
    assert state.ties_matter([torch.ones(4, 8)]) is (function is torch.argmax)
    state.problem.run_double = lambda _arguments: []
    assert state.ties_matter([torch.ones(4, 8)])
