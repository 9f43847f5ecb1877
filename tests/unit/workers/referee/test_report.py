import pytest

from services.domain.evaluations import Environment, Verdict
from services.domain.gates import GateName, GateResult, GateStatus
from workers.referee.report import Figures, compose, compose_infrastructure_error

ENVIRONMENT = Environment(
    device="cpu",
    driver=None,
    torch="2",
    triton=None,
    toolkit="g++",
    cpu="x",
    referee_version="1",
    tf32=False,
    isolation="limits",
)


def result(name: GateName, status: GateStatus = GateStatus.PASSED) -> GateResult:
    return GateResult(name=name, status=status, detail=f"{name} {status}", seconds=0.1)


ALL = [result(name) for name in GateName]


def test_all_gates_passed_is_accepted() -> None:
    report = compose(ALL, Figures(), ENVIRONMENT, {"total": 1.0, "generalization": 0.1})
    assert report.verdict is Verdict.ACCEPTED
    assert report.failed_gate is None
    assert report.phases_s.total == 1.0


def test_a_hint_makes_suspicious() -> None:
    hinted = [*ALL, result(GateName.INTEGRITY, GateStatus.SUSPICIOUS)]
    assert compose(hinted, Figures(), ENVIRONMENT, {}).verdict is Verdict.SUSPICIOUS


def test_the_first_failed_gate_rejects_and_later_ones_were_not_reached() -> None:
    report = compose([result(GateName.SCREEN), result(GateName.COMPILE, GateStatus.FAILED)], Figures(), ENVIRONMENT, {})
    assert report.verdict is Verdict.REJECTED
    assert report.failed_gate is GateName.COMPILE
    assert [gate.name for gate in report.gates] == list(GateName)
    assert {gate.status for gate in report.gates[2:]} == {GateStatus.SKIPPED}


def test_later_evidence_replaces_what_a_gate_said_before() -> None:
    report = compose([*ALL, result(GateName.INTEGRITY, GateStatus.FAILED)], Figures(), ENVIRONMENT, {})
    assert report.failed_gate is GateName.INTEGRITY


def test_nothing_is_accepted_with_a_gate_missing() -> None:
    with pytest.raises(ValueError, match="needs every gate"):
        compose(ALL[:-1], Figures(), ENVIRONMENT, {})


def test_the_machines_failure_blames_no_gate() -> None:
    report = compose_infrastructure_error("the disk is full", ENVIRONMENT, {}, [result(GateName.SCREEN)])
    assert report.verdict is Verdict.INFRASTRUCTURE_ERROR
    assert report.failed_gate is None
    assert report.gates[0].status is GateStatus.PASSED
    assert report.gates[1].detail == "the disk is full"


def test_a_failure_after_the_last_gate_says_why_too() -> None:
    report = compose_infrastructure_error("the disk is full", ENVIRONMENT, {}, ALL)
    assert report.gates[-1].detail == "the disk is full"
