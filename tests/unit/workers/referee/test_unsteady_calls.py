"""Whose doing it is that no median can be told: the candidate's, or the machine's."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from services.domain.errors import InfrastructureError
from services.domain.gates import GateStatus
from services.domain.measurements import Baselines
from workers.referee.gates.timing import TimingGate
from workers.referee.timing.single_calls import Samples
from workers.referee.trial import Measured

STEADY = [1e-3, 1.01e-3, 0.99e-3] * 4
UNSTEADY = [1e-5, 2e-2, 1.1e-5, 1.9e-2] * 3


def trial(candidate: list[float], baseline: list[float]) -> Any:
    measured = Measured(number=0, baseline="eager", samples=Samples(candidate=candidate, baseline=baseline), shapes=())
    bench = SimpleNamespace(known=lambda _number: Baselines(), untold={})
    return SimpleNamespace(
        measured=[measured],
        shapes=[],
        state=SimpleNamespace(bench=bench),
        request=SimpleNamespace(baselines=("eager",)),
        named=lambda result, _number: result,
    )


def test_a_candidate_alone_unsteady_fails() -> None:
    finding = TimingGate().examine(trial(UNSTEADY, STEADY))

    assert finding.status is GateStatus.FAILED
    assert "no stable measurement" in finding.detail


def test_where_the_reference_is_unsteady_too_the_machine_is_blamed() -> None:
    with pytest.raises(InfrastructureError, match="too busy to time anything: calls of eager"):
        TimingGate().examine(trial(UNSTEADY, UNSTEADY))
