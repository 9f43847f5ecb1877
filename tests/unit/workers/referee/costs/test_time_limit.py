"""Tracing is ended when its CPU time is used up, and the problem is used with what was traced till then."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator

import pytest
import torch

from services.domain.problems import ProblemAnalysis
from workers.referee.costs.analysis import analyse
from workers.referee.costs.time_limit import CpuTime, CpuTimeError
from workers.referee.problem.watchdog import REFERENCE_LIMIT_S
from workers.referee.problem_process import TRACE_S


def _busy() -> None:
    """Code that catches what it can, and goes on."""
    while True:
        with contextlib.suppress(Exception):
            sum(range(1000))


def test_code_is_ended_when_what_is_shared_is_used_up() -> None:
    before = signal.getsignal(signal.SIGPROF)
    limit = CpuTime(0.05)
    with limit.limiting():
        assert signal.getitimer(signal.ITIMER_PROF)[0] > 0
    used_up = limit.is_used_up
    with pytest.raises(CpuTimeError, match=r"more than 0\.05 s"), limit.limiting():
        _busy()
    assert (used_up, limit.is_used_up) == (False, True)
    assert signal.getsignal(signal.SIGPROF) is before
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
    with pytest.raises(CpuTimeError), limit.limiting():
        pytest.fail("nothing begins when no time is left")


def test_code_that_catches_its_end_is_ended_again() -> None:
    limit, caught = CpuTime(0.02), list[str]()

    def stubborn() -> None:
        try:
            _busy()
        except BaseException as error:  # noqa: BLE001 - as some libraries do
            caught.append(type(error).__name__)
        _busy()

    with pytest.raises(CpuTimeError), limit.limiting():
        stubborn()
    assert caught == ["_Ended"]


def test_an_error_of_the_code_itself_stays_what_it_is() -> None:
    with pytest.raises(ValueError, match="own"), CpuTime(5.0).limiting():
        raise ValueError("own")


def test_a_trace_ends_before_the_watchdog_refuses_the_problem() -> None:
    assert TRACE_S < REFERENCE_LIMIT_S


class _Scaling(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x / x.shape[0]


class _LateTime(CpuTime):
    """Is used up when the piece of this number begins."""

    def __init__(self, piece: int) -> None:
        super().__init__(60.0)
        self._pieces = piece

    @contextlib.contextmanager
    def limiting(self) -> Iterator[None]:
        if self._pieces == 0:
            self._left = 0.0
        self._pieces -= 1
        with super().limiting():
            yield


def _analysed(limit: CpuTime | None) -> ProblemAnalysis:
    return analyse(_Scaling(), [torch.rand(4, 6)], (), copy_bandwidth_gb_s=10.0, peak_gflop_s=100.0, limit=limit)


def test_without_time_for_a_trace_there_is_no_graph() -> None:
    found = _analysed(_LateTime(0))
    assert found.operators == ()
    assert found.trace_error == "CpuTimeError: it takes more than 60 s of CPU time"
    assert [spec.shape for spec in found.inputs] == [(4, 6)]


def test_without_time_for_other_sizes_the_graph_holds_for_these() -> None:
    found, usual = _analysed(_LateTime(1)), _analysed(None)
    assert found.operators == usual.operators
    assert found.trace_error is None
    assert found.fixed_sizes == ((0, 0), (0, 1))
    assert usual.size_numbers
    assert usual.fixed_sizes == ()
