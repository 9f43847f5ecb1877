"""A device that others use too, and that a candidate may have broken."""

from __future__ import annotations

import pytest

from services.domain.errors import InfrastructureError
from workers.ipc.placement import TensorDevice
from workers.referee.state import DeviceCare


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
