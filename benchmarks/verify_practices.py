"""Verifies the seeds of the memory that speak of the CPU: a kernel without a practice against one with it.

    python -m benchmarks.verify_practices [--only NAME …] [--quiet-load 1.0] [--wait-s 120] [--check]

Every pair is judged by our own evaluator (all gates, timed in turns with eager mode). The ratio of their speedups, its
95 % interval, device, date and the load beside which it was measured are written to
`services/team_memory/seeds/verified.json`, from where prompts say "verified on …"; a pair whose kernels are not both
accepted is no evidence and leaves what is written as it is. Before each pair it waits, `--wait-s` at most, until the
load of the last minute is below `--quiet-load`. `--check` judges nothing: exit code 1 if a pair names no seed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.practice_pairs.pair import Pair
from benchmarks.practice_pairs.pairs import PAIRS
from kernelwright.wiring.workbench import make_workbench
from services.domain.evaluations import EvaluationReport, EvaluationRequest
from services.domain.problems import Problem
from services.domain.ratios import seed_figures, with_seed
from services.domain.validations import ValidationRequest
from services.team_memory.seeds import VERIFIED, SeedEvidence, seed_titles, verifications
from workers.evaluation.evaluator import Evaluator

DEVICE = "cpu"
BASELINES = ("eager",)
_POLL_S = 5.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge the pairs and write their figures; 1 where one gave no evidence."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=[pair.name for pair in PAIRS], help="these pairs (default: all)")
    parser.add_argument("--quiet-load", type=float, default=1.0, help="load of one minute that counts as quiet")
    parser.add_argument("--wait-s", type=float, default=120.0, help="most seconds to wait for it before each pair")
    parser.add_argument("--check", action="store_true", help="only check that each pair names a seed")
    given = parser.parse_args(arguments)
    strangers = {pair.seed for pair in PAIRS} - set(seed_titles())
    if strangers or given.check:
        sys.stdout.write(f"pairs that name no seed: {', '.join(sorted(strangers)) or 'none'}\n")
        return 1 if strangers else 0
    wanted = [pair for pair in PAIRS if not given.only or pair.name in given.only]
    with tempfile.TemporaryDirectory() as folder:
        workbench = make_workbench(Path(folder))
        try:
            held = [_verified(workbench, pair, given.quiet_load, given.wait_s) for pair in wanted]
        finally:
            workbench.close()
    return 0 if all(held) else 1


def _verified(workbench: Evaluator, pair: Pair, quiet: float, wait_s: float) -> bool:
    """Whether the pair gave figures, which are then written at once: a long run may be stopped."""
    load = _quiet(quiet, wait_s)
    found = judged(workbench, pair, load)
    if isinstance(found, str):
        sys.stdout.write(f"{pair.name:<18} no evidence: {found}\n")
        sys.stdout.flush()
        return False
    write({**verifications(), pair.seed: found})
    sys.stdout.write(f"{pair.name:<18} {found.ratio:6.2f}× {found.low:.2f} to {found.high:.2f}  load {load:.1f}\n")
    sys.stdout.flush()
    return True


def judged(workbench: Evaluator, pair: Pair, load: float) -> SeedEvidence | str:
    """The pair's figures, or why there are none."""
    job, problem = f"job-{pair.name}", Problem(name=pair.name, source=pair.problem, path=f"{pair.name}.py")
    validation = workbench.validate(
        ValidationRequest(
            job_id=job, team_id="local", problem=problem, device=DEVICE, backend="cpp", baselines=BASELINES
        )
    )
    try:
        if validation.refusal is not None or validation.device is None:
            return str(validation.refusal or "the device is unknown")
        without, with_it = (
            _report(workbench, problem, job, f"{which}-{pair.name}", pair.candidate(code))
            for which, code in (("without", pair.without), ("with", pair.with_it))
        )
        compared = with_seed(with_it, seed_figures(without)).speedup
        if not (without.accepted and with_it.accepted) or compared.seed is None or compared.seed_ci95 is None:
            return f"without: {_outcome(without)}; with: {_outcome(with_it)}"
        low, high = compared.seed_ci95
        return SeedEvidence(
            ratio=round(compared.seed, 3),
            low=round(low, 3),
            high=round(high, 3),
            device=f"{validation.device.model}, {validation.device.units} cores",
            toolchain=validation.device.toolchain,
            date=f"{datetime.now(UTC):%Y-%m-%d}",
            load=round(load, 2),
            command=f"python -m benchmarks.verify_practices --only {pair.name}",
        )
    finally:
        workbench.close_job(job)


def write(found: dict[str, SeedEvidence]) -> None:
    """Keep the figures by the seed's title."""
    data = {title: asdict(one) for title, one in sorted(found.items())}
    VERIFIED.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    verifications.cache_clear()


def _report(workbench: Evaluator, problem: Problem, job: str, name: str, source: str) -> EvaluationReport:
    request = EvaluationRequest(
        evaluation_id=f"eval-{name}",
        job_id=job,
        team_id="local",
        candidate_id=f"cand-{name}",
        problem=problem,
        source=source,
        device=DEVICE,
        backend="cpp",
        baselines=BASELINES,
        profile=False,
        thorough=True,
    )
    return workbench.evaluate(request, lambda: False)


def _outcome(report: EvaluationReport) -> str:
    return f"{report.verdict.value} {' '.join(gate.detail for gate in report.gates if gate.detail)[:300]}".strip()


def _quiet(quiet: float, wait_s: float) -> float:
    """The load of the last minute, once it is low or nobody wants to wait any longer."""
    until = time.monotonic() + wait_s
    while (load := os.getloadavg()[0]) > quiet and time.monotonic() < until:
        time.sleep(_POLL_S)
    return load


if __name__ == "__main__":
    sys.exit(main())
