"""When a measurement is taken again, and in which process."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from services.domain.gates import GateStatus
from tests.unit.workers.referee.trials import a_trial
from workers.referee.gates.checks import deferred_work, measurement
from workers.referee.gates.finding import GateFinding, failed
from workers.referee.timing.single_calls import Samples
from workers.referee.timing.statistics import Uncertainty, latency
from workers.referee.trial import Measured

CALL_S = 35e-6
MUCH_S, LITTLE_S = 18e-6, 8e-6
READ_S, SLOW_READ_S = 1e-3, 2e-3


class Sittings:
    """Measurements whose hidden time is given beforehand; counts the processes that they were taken in."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *hidden_s: float, evidence: GateFinding | None = None) -> None:
        self.processes = 1
        self._hidden_s = list(hidden_s)
        monkeypatch.setattr(measurement, "measure", self._measure)
        monkeypatch.setattr(measurement, "try_draw", lambda *_given, **_named: evidence)
        monkeypatch.setattr(measurement, "library_work", lambda _trial: None)
        monkeypatch.setattr(measurement, "work_outside", lambda _trial: None)
        bench = SimpleNamespace(side=self._side, restart=self._restart)
        state = SimpleNamespace(bench=bench, metas=lambda _number: [], is_one_of_many=False, is_large=False)
        self.rivals = 1
        trial: Any = a_trial(state=state)
        trial.draw = lambda *_given: []
        trial.load_again = self._load_again
        self.trial = trial

    def _measure(self, _trial: object, number: int) -> Measured:
        samples = Samples(candidate=[CALL_S] * 20, baseline=[CALL_S] * 20, hidden_s=self._hidden_s.pop(0))
        return Measured(number=number, baseline="eager", samples=samples, shapes=())

    def _load_again(self) -> None:
        self.processes += 1

    def _restart(self) -> None:
        self.rivals += 1

    def _side(self, *_given: object) -> str:
        return "reference"

    def steadily(self, number: int = 0) -> Samples:
        return measurement.measured_steadily(self.trial, number).samples


def test_time_hidden_in_one_process_alone_is_the_machine_s(monkeypatch: pytest.MonkeyPatch) -> None:
    sittings = Sittings(monkeypatch, MUCH_S, LITTLE_S)
    assert sittings.steadily().hidden_s == LITTLE_S
    assert sittings.processes == 2


def test_time_hidden_in_every_process_is_the_candidate_s(monkeypatch: pytest.MonkeyPatch) -> None:
    sittings = Sittings(monkeypatch, MUCH_S, MUCH_S, MUCH_S)
    assert sittings.steadily().hidden_s == MUCH_S
    assert sittings.processes == measurement.REPEATS
    assert sittings.rivals == 2, "the reference's process may have been the lucky one"


class Reads(Sittings):
    """Measurements in whose processes reading the candidate's outputs takes so many seconds, however often they are
    read; the reference's always take `READ_S`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *read_s: float) -> None:
        super().__init__(monkeypatch)
        self._read_s = read_s
        self.read_again = 0
        self.trial.side = lambda *_given: "candidate"
        monkeypatch.setattr(deferred_work, "timed_fetch", self._timed_fetch)

    def _measure(self, _trial: object, number: int) -> Measured:
        samples = Samples(candidate=[CALL_S] * 20, baseline=[CALL_S] * 20)
        samples.candidate_fetch.append(self._read_s[self.processes - 1])
        samples.baseline_fetch.append(READ_S)
        return Measured(number=number, baseline="eager", samples=samples, shapes=())

    def _timed_fetch(self, side: str, _tensors: object) -> float:
        self.read_again += 1
        return self._read_s[self.processes - 1] if side == "candidate" else READ_S


@pytest.mark.parametrize("number", [0, 1])
def test_slow_reads_in_one_process_alone_are_the_machine_s(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    reads = Reads(monkeypatch, SLOW_READ_S, READ_S)
    measured = measurement.measured_steadily(reads.trial, number)
    assert deferred_work.put_off(measured) is None
    assert (reads.processes, reads.read_again) == (2, 2 * deferred_work.SECOND_LOOK)


@pytest.mark.parametrize("number", [0, 1])
def test_slow_reads_in_every_process_are_work_put_off(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    reads = Reads(monkeypatch, SLOW_READ_S, SLOW_READ_S, SLOW_READ_S)
    finding = deferred_work.put_off(measurement.measured_steadily(reads.trial, number))
    assert finding is not None
    assert "took 1000 µs longer than for the reference" in finding.detail
    assert (reads.processes, reads.rivals) == (measurement.REPEATS, 2)


def test_outputs_of_large_problems_are_read_again_in_another_process_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    reads = Reads(monkeypatch, SLOW_READ_S, READ_S)
    reads.trial.state.is_large = True
    assert deferred_work.put_off(measurement.measured_steadily(reads.trial, 0)) is None
    assert (reads.processes, reads.read_again) == (2, 0)


def test_a_measurement_that_hides_nothing_is_taken_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sittings = Sittings(monkeypatch, LITTLE_S)
    sittings.steadily()
    assert sittings.processes == 1


def test_the_new_process_is_examined_before_it_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    sittings = Sittings(monkeypatch, MUCH_S, LITTLE_S, evidence=failed("the output is wrong"))
    with pytest.raises(measurement.CheatFoundError) as caught:
        sittings.steadily()
    assert caught.value.finding.status is GateStatus.FAILED


class Few(Sittings):
    """Sittings of eight samples, a quarter of which shows no time."""

    def _measure(self, _trial: object, number: int) -> Measured:
        self.sittings = getattr(self, "sittings", 0) + 1
        samples = Samples(candidate=[1e-6, *[1e-4] * 3] * 2, baseline=[2e-4] * 8, off=Uncertainty(shorter_s=5e-6))
        return Measured(number=number, baseline="eager", samples=samples, shapes=())


def test_sittings_without_a_figure_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    few = Few(monkeypatch)
    samples = few.steadily()
    assert len(samples.candidate) == len(samples.baseline) == 8 * few.sittings
    assert 1 < few.sittings <= measurement.REPEATS
    assert latency(samples.candidate, samples.off).median_us == pytest.approx(100.0)
    assert few.processes == 1
