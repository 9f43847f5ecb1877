"""Runs planner and coder on one problem without the rest of the system, and prints the latency of every round.

    PYTHONPATH=. python -m tests.integration.playbook_rounds examples/problems/rmsnorm.py [rounds]

Timing is a plain median in this process: good enough to see what a move does, nothing to report.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from agents.playbook.planner import code, plan
from services.domain.chat import AttemptFact, Facts
from services.domain.devices import DeviceSheet
from services.domain.evaluations import Environment, EvaluationReport, PhasesS, Verdict
from services.domain.jobs import Stage
from services.domain.measurements import Baselines, Latency, Speedup
from services.domain.problems import Problem, ProblemAnalysis
from services.domain.referees import REFEREE_VERSION
from workers.referee.costs.analysis import analyse

BANDWIDTH_GB_S, PEAK_GFLOP_S = 12.0, 150.0


def load(path: Path) -> ModuleType:
    """A problem file as a module."""
    found = importlib.util.spec_from_file_location(path.stem, path)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def candidate(source: str) -> torch.nn.Module:
    """An instance of a candidate's `ModelNew`."""
    scope: dict[str, Any] = {"__name__": "candidate"}
    exec(compile(source, "candidate.py", "exec"), scope)
    made: torch.nn.Module = scope["ModelNew"]()
    return made


def median_us(call: Callable[[], object], seconds: float = 0.4) -> float:
    """Median duration of a call."""
    call()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1e6)
    return sorted(times)[len(times) // 2]


def accepted(median: float) -> EvaluationReport:
    """A report that says only how fast."""
    return EvaluationReport(
        verdict=Verdict.ACCEPTED, failed_gate=None, gates=(), baselines=Baselines(), speedup=Speedup(), shapes=(),
        latency=Latency(
            median_us=median, mean_us=median, p10_us=median, p90_us=median, ci95_us=(median, median), samples=5
        ),
        roofline=None, profile=None, tuned=None, phases_s=PhasesS(),
        environment=Environment(
            device="cpu", driver=None, torch=None, triton=None, toolkit=None, cpu="", referee_version=REFEREE_VERSION,
            tf32=False, isolation="limits",
        ),
    )  # fmt: skip


def facts_of(name: str, analysis: ProblemAnalysis, attempts: Sequence[AttemptFact]) -> Facts:
    """What the model sees at one step, starting from the fastest candidate."""
    device = DeviceSheet(
        name="cpu", model="", units=torch.get_num_threads(), copy_bandwidth_gb_s=BANDWIDTH_GB_S,
        cache_bandwidth_gb_s=50.0, cache_bytes=1 << 25, peak_gflop_s=PEAK_GFLOP_S, launch_us=2.0,
        instruction_set=("avx512f",), toolchain="",
    )  # fmt: skip
    return Facts(
        job_id="dev", step=len(attempts), stage=Stage.REFINE, seed=0, problem=Problem(name=name, source=""),
        analysis=analysis, backend="cpp", device=device, baselines=Baselines(), attempts=tuple(attempts),
        experiences=(), start_point=min(attempts, key=_latency, default=None),
    )  # fmt: skip


def _latency(attempt: AttemptFact) -> float:
    return attempt.report.latency.median_us if attempt.report and attempt.report.latency else float("inf")


def run(path: Path, rounds: int) -> list[AttemptFact]:
    """The loop; one line on standard output per round."""
    problem = load(path)
    torch.manual_seed(0)
    model, inputs = problem.Model(*problem.get_init_inputs()), problem.get_inputs()
    analysis = analyse(
        model,
        inputs,
        problem.get_init_inputs(),
        copy_bandwidth_gb_s=BANDWIDTH_GB_S,
        peak_gflop_s=PEAK_GFLOP_S,
    )
    attempts: list[AttemptFact] = []
    with torch.no_grad():
        _say(f"{path.stem}: eager {median_us(lambda: model(*inputs)):.0f} µs, floor {analysis.floor_us:.0f} µs")
        for step in range(rounds):
            asked = facts_of(path.stem, analysis, attempts)
            planned = plan(asked)
            if planned.unable is not None:
                _say(planned.unable)
                break
            start = next((item for item in attempts if item.candidate_id == planned.start_point), None)
            written = code(replace(asked, plan=planned.fact(), start_point=start))
            kernel = candidate(written.source or "")
            kernel.load_state_dict(model.state_dict())
            torch.testing.assert_close(kernel(*inputs), model(*inputs), rtol=1e-4, atol=1e-5)
            took = median_us(lambda kernel=kernel: kernel(*inputs))  # type: ignore[misc]
            _say(f"  {step}: {took:8.0f} µs  {written.summary}  [{planned.hypothesis}]")
            attempts.append(
                AttemptFact(
                    step=step, stage=Stage.REFINE, candidate_id=f"cand-{step}", parent_id=planned.start_point,
                    plan=planned.fact(), source=written.source, report=accepted(took),
                )
            )  # fmt: skip
    return attempts


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    run(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 8)
