"""What idle windows amount to."""

from services.domain.gates import GateStatus
from workers.referee.gates.checks.background_work import Window, judge_windows


def window(cpu_ms: float = 0.0, turns: int = 0, running: float = 0.0) -> Window:
    return Window(cpu_s=cpu_ms / 1e3, turns=turns, running_share=running)


def status(*windows: Window) -> GateStatus | None:
    finding = judge_windows(windows)
    return finding.status if finding else None


def test_a_thread_that_works_for_ever_is_evidence() -> None:
    assert status(window(40.0, 3, 1.0), window(38.0, 3, 1.0)) is GateStatus.FAILED


def test_a_thread_that_wants_to_work_on_a_busy_machine_is_evidence_without_a_processor() -> None:
    assert status(window(0.0, 0, 1.0), window(0.0, 0, 0.8)) is GateStatus.FAILED


def test_a_thread_that_watches_memory_in_short_naps_is_a_hint() -> None:
    assert status(window(2.0, 200, 0.1), window(2.5, 240, 0.0)) is GateStatus.SUSPICIOUS


def test_one_restless_window_among_others_is_no_offence() -> None:
    assert status(window(12.0, 30, 1.0), window(0.8, 6, 0.1)) is None


def test_nothing_that_moves_is_quiet_and_anything_that_does_is_not() -> None:
    assert window().quiet
    assert not window(turns=30).quiet
    assert not window(running=0.2).quiet
    assert not window(cpu_ms=3.0).quiet
