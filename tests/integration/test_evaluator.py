"""The evaluator with a real sandbox, g++ and torch: refusals, faults of the machine, and life after a bad candidate."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelwright.wiring.workbench import MEMORY_BYTES, make_sandbox, make_workbench
from services.domain.evaluations import EvaluationReport, EvaluationRequest, Verdict
from services.domain.gates import GateName
from services.domain.problems import Problem
from services.domain.validations import ValidationReport, ValidationRequest
from tests.e2e.programs import give_a_sheet
from tests.integrity.conftest import SHEET
from tests.repeated import evaluated
from tests.selection import with_full
from workers.backends.cpp import CppBackend, runtime_view
from workers.evaluation.evaluator import Evaluator
from workers.sandboxes.process import ProcessSandbox

pytestmark = pytest.mark.integration

INTEGRITY = Path(__file__).parents[1] / "integrity"
PROBLEM = (INTEGRITY / "problems" / "silu_scale.txt").read_text()
HONEST = (INTEGRITY / "honest" / "silu_openmp.txt").read_text()
CHEATS = INTEGRITY / "cheats"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[ProcessSandbox]:
    one = make_sandbox()
    yield one
    one.close()


@pytest.fixture(scope="module")
def evaluator(sandbox: ProcessSandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evaluator]:
    one = make(sandbox, tmp_path_factory.mktemp("state"))
    yield one
    one.close()


def make(sandbox: ProcessSandbox, state: Path) -> Evaluator:
    backend = CppBackend(sandbox, state)
    return Evaluator(sandbox, {"cpp": backend}, SHEET, views={"cpp": runtime_view}, memory_bytes=2 << 30)


def evaluation(source: str, *, problem: str = PROBLEM, job: str = "job", timeout_s: float = 60.0) -> EvaluationRequest:
    return EvaluationRequest(
        evaluation_id="eval",
        job_id=job,
        team_id="local",
        candidate_id="cand",
        problem=Problem(name="p", source=problem, path="p.py"),
        source=source,
        device="cpu",
        backend="cpp",
        baselines=("eager",),
        timeout_s=timeout_s,
    )


def validated(evaluator: Evaluator, source: str) -> ValidationReport:
    problem = Problem(name="p", source=source, path="p.py")
    request = ValidationRequest(job_id="v", team_id="local", problem=problem, device="cpu", backend="cpp")
    return evaluator.validate(request)


def cheat(name: str) -> str:
    return (CHEATS / f"{name}.txt").read_text()


def test_a_good_problem_is_analysed_with_both_baselines(evaluator: Evaluator) -> None:
    report = validated(evaluator, PROBLEM)
    assert report.refusal is None
    assert report.analysis is not None
    assert report.analysis.inputs[0].shape == (512, 768)
    assert report.baselines.eager is not None
    assert report.baselines.compile is not None


@pytest.mark.parametrize(
    ("old", "new", "reason", "line"),
    [
        ("return torch.nn.functional.silu(x) * self.weight", "return x +", "syntax error", 8),
        ("return torch.nn.functional.silu(x) * self.weight", "return x.no_such()", "AttributeError", 8),
        (
            "return [torch.randn(512, 768)]",
            "held = []\n    while True:\n        held.append(torch.ones(1 << 26))",
            "ran out of memory",
            None,
        ),
        ("return [768]", "import os\n    os._exit(0)", "process ended (exit code 0)", None),
    ],
)
def test_an_unusable_problem_is_refused(
    evaluator: Evaluator, old: str, new: str, reason: str, line: int | None
) -> None:
    refusal = validated(evaluator, PROBLEM.replace(old, new)).refusal
    assert refusal is not None
    assert reason in refusal.reason, refusal
    assert refusal.remedy
    assert line is None or refusal.line == line


def test_a_problem_that_never_ends_is_refused_with_its_line(evaluator: Evaluator) -> None:
    endless = PROBLEM.replace("import torch\n", "import time\n\nimport torch\n", 1)
    endless = endless.replace("return [torch.randn(512, 768)]", "while True:\n        time.sleep(0.1)")
    refusal = validated(evaluator, endless).refusal
    assert refusal is not None
    assert "did not end" in refusal.reason
    assert refusal.line in (13, 14)  # one that computes meanwhile: tests/integration/test_watchdog.py


BAD = ("segfault", "exit_unseen", "forged_messages", "endless_loop", "memory_hog", "prints_without_end")


@pytest.mark.parametrize("name", with_full(BAD, ("segfault", "forged_messages", "memory_hog")))
def test_the_evaluation_after_a_bad_candidate_is_right(evaluator: Evaluator, name: str) -> None:
    assert evaluator.evaluate(evaluation(cheat(name), timeout_s=15.0)).verdict is Verdict.REJECTED
    assert evaluated(evaluator, evaluation(HONEST)).verdict is Verdict.ACCEPTED


def test_a_report_has_every_gate_figure_and_phase(evaluator: Evaluator) -> None:
    report = evaluated(evaluator, evaluation(HONEST))
    assert [gate.name for gate in report.gates] == list(GateName)
    assert report.latency is not None
    assert report.baselines.eager is not None
    assert report.speedup.eager is not None
    assert report.speedup.ci95 is not None
    assert report.speedup.ci95[0] <= report.speedup.ci95[1]
    assert report.roofline is not None
    assert 0 < report.roofline.fraction < 2
    assert report.profile is not None
    assert report.environment.isolation in ("namespaces", "limits")
    assert 0 < report.phases_s.timing < report.phases_s.total


def test_a_killed_referee_is_nobodys_fault_and_is_replaced(evaluator: Evaluator) -> None:
    assert evaluated(evaluator, evaluation(HONEST)).accepted
    referee = next(case.process for case in evaluator._cases.values() if case.process is not None)
    pid = referee._process.pid  # type: ignore[attr-defined]
    killer = threading.Timer(0.5, os.kill, (pid, signal.SIGKILL))
    killer.start()
    reports: list[EvaluationReport] = [evaluator.evaluate(evaluation(HONEST + f"\n# {turn}\n")) for turn in range(2)]
    killer.join()
    reports.append(evaluated(evaluator, evaluation(HONEST + "\n# after it\n")))
    verdicts = [report.verdict for report in reports]
    assert Verdict.REJECTED not in verdicts
    assert verdicts[-1] is Verdict.ACCEPTED


def test_a_cancelled_evaluation_stops_long_before_its_limit(evaluator: Evaluator) -> None:
    assert evaluated(evaluator, evaluation(HONEST)).accepted
    started = time.monotonic()
    report = evaluator.evaluate(evaluation(cheat("endless_loop")), lambda: time.monotonic() - started > 2.0)
    assert report.verdict is Verdict.INFRASTRUCTURE_ERROR
    assert report.failed_gate is None


def test_whatever_a_worker_runs_may_use_so_much_memory_and_no_more(tmp_path: Path) -> None:
    give_a_sheet(tmp_path)
    workbench = make_workbench(tmp_path)
    terms = workbench._terms
    workbench.close()
    assert {limits.memory_bytes for limits in (terms.referee, terms.runner, terms.baseline)} == {MEMORY_BYTES}


def test_a_sandbox_that_cannot_start_is_nobodys_fault(tmp_path: Path) -> None:
    closed = ProcessSandbox()
    closed.close()
    broken = make(closed, tmp_path)
    report = broken.evaluate(evaluation(HONEST))
    assert report.verdict is Verdict.INFRASTRUCTURE_ERROR
    assert "closed" in report.gates[0].detail


def test_an_unknown_device_or_backend_blames_nobody(evaluator: Evaluator) -> None:
    import dataclasses

    request = dataclasses.replace(evaluation(HONEST), backend="fortran")
    report = evaluator.evaluate(request)
    assert report.verdict is Verdict.INFRASTRUCTURE_ERROR
    assert "fortran" in report.gates[0].detail


def test_a_closed_job_leaves_no_referee(evaluator: Evaluator) -> None:
    assert evaluated(evaluator, evaluation(HONEST, job="short")).accepted
    evaluator.close_job("short")
    assert all(case.job_id != "short" for case in evaluator._cases.values())
