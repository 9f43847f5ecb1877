"""Rows and problems of a bench."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from kernelwright.bench.categories import Category
from kernelwright.bench.rows import Author, BenchRow, DeviceSpending, Versions
from kernelwright.bench.terms import BenchTerms
from kernelwright.bench.totals import BenchDocument, summarise
from kernelwright.suites.suite import SuiteProblem
from services.domain.evaluations import Verdict
from services.domain.jobs import AgentsMode, Budget, JobStatus
from services.domain.measurements import Gain, Speedup
from tests.doubles import a_problem
from tests.doubles.builders import MOMENT


def an_item(number: int = 1, name: str = "relu") -> SuiteProblem:
    """A problem of a suite."""
    return SuiteProblem(number=number, key=f"{number}_{name}", problem=a_problem(name=f"{number}_{name}"))


def some_terms(**changes: Any) -> BenchTerms:
    """Level 1 of KernelBench on the CPU."""
    given: dict[str, Any] = {
        "suite": "kernelbench",
        "level": 1,
        "device": "cpu",
        "backend": "cpp",
        "model": "playbook",
        "strategy": "greedy",
        "beam": 1,
        "agents": AgentsMode.FULL,
        "verify_first": False,
        "compiler_draft": True,
        "budget": Budget(rounds=2),
        "baselines": ("eager", "compile"),
        "referee_version": "3",
    }
    return BenchTerms(**(given | changes))


def a_row(
    number: int = 1,
    *,
    eager: float | None = 4.0,
    strongest: float | None = 2.0,
    width: float = 0.1,
    category: Category = Category.ACTIVATION,
    **changes: Any,
) -> BenchRow:
    """An accepted kernel; one that is not accepted where neither speedup is given."""
    item = an_item(number)
    accepted = eager is not None or strongest is not None
    measured = {"eager": eager, "compile": strongest, "strongest": strongest}
    given: dict[str, Any] = {
        "key": item.key,
        "number": number,
        "problem": item.problem.name,
        "source_hash": item.source_hash,
        "job_id": f"job-{number}",
        "status": JobStatus.SOLVED if accepted else JobStatus.UNSOLVED,
        "accepted": accepted,
        "verdict": Verdict.ACCEPTED if accepted else Verdict.REJECTED,
        "failed_gate": None,
        "message": "all 2 rounds are used",
        "family": "pointwise",
        "category": category,
        "latency_us": 100.0 if accepted else None,
        "latency_ci95_us": (98.0, 102.0) if accepted else None,
        "baselines_us": {"eager": 400.0, "compile": 200.0},
        "speedup": Speedup(eager=eager, compile=strongest, best_baseline=strongest),
        "bounds": {name: (value - width, value + width) for name, value in measured.items() if value is not None},
        "gain": Gain.SURELY if accepted else None,
        "roofline_fraction": 0.5 if accepted else None,
        "first_set_speedup": strongest if accepted else None,
        "roofline_bound": "memory" if accepted else None,
        "rounds": 2,
        "candidates": 2,
        "device_s": DeviceSpending(validation=3.0, candidates=5.0),
        "wall_s": 9.0,
        "tokens": 0,
        "dollars": 0.0,
        "author": Author.PLAYBOOK if accepted else None,
        "from_compiler": False,
        "kernel_path": f"kernels/{item.key}/kernel.py" if accepted else None,
        "device": "cpu",
        "hardware": "Test CPU",
        "referee_version": "3",
        "versions": Versions(torch="2.13.0", isolation="namespaces"),
        "finished_at": MOMENT,
    }
    return BenchRow(**(given | changes))


def a_document() -> BenchDocument:
    """A bench with a solved problem, one that is not, and one that remains."""
    unsolved = a_row(
        2, eager=None, strongest=None, message="no template | for\nconv", finished_at=MOMENT + timedelta(days=1)
    )
    return summarise([a_row(1), unsolved], some_terms(), ("3_relu",))
