"""What is said where a problem brings its referee down: what happened and where to look, and no more than is known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from services.ports.sandboxes import ExitStatus
from workers.evaluation.referee_process import RefereeLostError, refusal_of
from workers.referee.boundary.worker_messages import StepBegun


def lost(*, code: int | None = None, signal: int | None = None, timed_out: bool = False) -> RefereeLostError:
    status = ExitStatus(code=code, signal=signal, timed_out=timed_out, out_of_memory=False, output="", output_cut=False)
    return RefereeLostError("gone", status, StepBegun(what="Model.forward", line=4))


def still_running() -> RefereeLostError:
    return RefereeLostError("no answer in time", None, StepBegun(what="Model.forward", line=4))


@pytest.mark.parametrize(
    ("end", "reason", "remedy"),
    [
        (lost(signal=11), "process ended (signal 11, SIGSEGV); its last step was Model.forward", "native code"),
        (lost(signal=250), "(signal 250, which has no name)", "native code"),
        (lost(code=3), "process ended (exit code 3); its last step was Model.forward", "sys.exit"),
        (lost(signal=9, timed_out=True), "Model.forward never ended", "Make it end"),
        (still_running(), "did not end within 90 s; the last step was Model.forward", "fewer input sets"),
    ],
)
def test_the_end_and_the_last_step_are_told(end: RefereeLostError, reason: str, remedy: str) -> None:
    refusal = refusal_of(end, 90.0)
    assert refusal is not None
    assert reason in refusal.reason
    assert remedy in refusal.remedy
    assert refusal.line == 4


def test_a_referee_without_memory_for_the_problem_says_so_at_any_step() -> None:
    status = ExitStatus(code=None, signal=9, timed_out=False, out_of_memory=True, output="", output_cut=False)
    refusal = refusal_of(RefereeLostError("gone", status, None), 90.0)
    assert refusal is not None
    assert refusal.reason == "judging it ran out of memory"
    assert "give workers more memory" in refusal.remedy
    assert refusal_of(RefereeLostError("gone", replace(status, out_of_memory=False), None), 90.0) is None


def test_a_kill_from_outside_is_nobodys_fault() -> None:
    assert refusal_of(lost(signal=9), 90.0) is None
