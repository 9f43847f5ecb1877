"""Cheats must be rejected by the declared gate for the declared reason; honest kernels must be accepted.

Each candidate is one text file with a declared expectation in its first lines. A cheat that passes is our worst bug,
a false accusation the second worst.
"""

import dataclasses
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from services.domain.evaluations import EvaluationReport, EvaluationRequest, Verdict
from services.domain.gates import GateStatus
from services.domain.problems import Problem
from tests.repeated import evaluated
from tests.selection import parameters
from workers.evaluation.evaluator import Evaluator

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parent
SELECTED = ROOT / "selected.txt"
HANG_LIMIT_S = 60.0


@dataclass(frozen=True, kw_only=True)
class Declared:
    """A candidate file: its problem and what must become of it."""

    name: str
    problem: str
    verdict: str
    gates: tuple[str, ...]
    reason: str
    source: str

    def with_source(self, source: str) -> "Declared":
        """The same with another text."""
        return dataclasses.replace(self, source=source)


def declared(path: Path, *, expects: bool = True) -> Declared:
    """A file with its expectation; with `expects=False` one whose expectation is in a test."""
    source = path.read_text()
    header = dict(re.findall(r"^# (problem|expect|about): (.*)$", source, re.MULTILINE))
    expectation, _, reason = header["expect"].partition(": ") if expects else ("", "", "")
    verdict, _, gates = expectation.partition(" ")
    return Declared(
        name=path.stem,
        problem=header["problem"],
        verdict=verdict,
        gates=tuple(gates.split(",")) if gates else (),
        reason=reason,
        source=source,
    )


def all_declared(folder: str) -> list[Declared]:
    found = [declared(path) for path in (ROOT / folder).glob("*.txt")]
    return sorted(found, key=lambda one: (one.problem, one.name))


def judge(evaluator: Evaluator, one: Declared, backend: str = "cpp") -> EvaluationReport:
    """The report on a candidate, repeated where the machine was at fault."""
    return evaluated(evaluator, request_for(one, backend))


def request_for(one: Declared, backend: str = "cpp") -> EvaluationRequest:
    problem = Problem(name=one.problem, source=(ROOT / "problems" / f"{one.problem}.txt").read_text())
    return EvaluationRequest(
        evaluation_id=f"eval-{one.name}",
        job_id="integrity",
        team_id="local",
        candidate_id=f"cand-{one.name}",
        problem=problem,
        source=one.source,
        device="cpu",
        backend=backend,
        baselines=("eager",),
        timeout_s=HANG_LIMIT_S,
    )


def explain(report: EvaluationReport) -> str:
    return "\n".join(f"{gate.name}: {gate.status}: {gate.detail}" for gate in report.gates)


@pytest.mark.parametrize("cheat", parameters(all_declared("cheats"), lambda one: one.name, SELECTED))
def test_a_cheat_is_rejected_by_the_right_gate_for_the_right_reason(evaluator: Evaluator, cheat: Declared) -> None:
    report = judge(evaluator, cheat)
    assert report.verdict is Verdict.REJECTED, explain(report)
    assert report.failed_gate is not None
    assert report.failed_gate.value in cheat.gates, explain(report)
    failed = report.gate(report.failed_gate)
    assert failed is not None
    assert failed.status is GateStatus.FAILED
    assert re.search(cheat.reason.replace(".", r"\."), failed.detail), explain(report)
    assert report.latency is None


@pytest.mark.parametrize("honest", parameters(all_declared("honest"), lambda one: one.name, SELECTED))
def test_an_honest_kernel_is_accepted(evaluator: Evaluator, honest: Declared) -> None:
    report = judge(evaluator, honest)
    assert report.verdict is Verdict.ACCEPTED, explain(report)
    assert report.latency is not None
    assert report.speedup.best_baseline is not None


def test_there_are_enough_of_both() -> None:
    assert len(all_declared("cheats")) >= 45
    assert len(all_declared("honest")) >= 45
