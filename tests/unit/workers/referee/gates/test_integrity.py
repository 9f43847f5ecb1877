"""Calls that are timed in batches have neither tails nor a runner's clock of their own: the gates do without."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from services.domain.gates import GateStatus
from tests.unit.workers.referee.trials import a_trial
from workers.referee.gates import integrity
from workers.referee.gates.checks.deferred_work import put_off
from workers.referee.timing.single_calls import Samples
from workers.referee.trial import Measured

CALL_S = 2e-6


def measured(*, batched: bool) -> Measured:
    samples = Samples(candidate=[CALL_S] * 12, baseline=[2 * CALL_S] * 12, batched=batched)
    if not batched:
        samples.claimed = [CALL_S] * 12
        samples.candidate_fetch = samples.baseline_fetch = [1e-6] * 12
    return Measured(number=0, baseline="eager", samples=samples, shapes=())


@pytest.mark.parametrize("batched", [True, False])
def test_neither_work_put_off_nor_too_good_a_figure_is_found(batched: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integrity, "cheating_floor_s", lambda _analysis, _device: CALL_S / 2)
    one = measured(batched=batched)
    trial = a_trial(one, state=SimpleNamespace(analysis=None, device=None))

    assert put_off(one) is None
    assert integrity._too_good(trial) is None


def test_a_figure_below_the_floor_is_seen_in_batches_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integrity, "cheating_floor_s", lambda _analysis, _device: 2 * CALL_S)
    trial = a_trial(measured(batched=True), state=SimpleNamespace(analysis=None, device=None))

    found = integrity._too_good(trial)

    assert found is not None
    assert found.status is GateStatus.SUSPICIOUS
