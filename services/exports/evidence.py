"""The bundle: the kernel, a test and a benchmark that run beside it with torch only, and the evidence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from services.domain import codec
from services.domain.candidates import EvaluatedCandidate
from services.domain.objectives import described
from services.exports.proven_calls import delivered
from services.exports.winner import RUNTIME_MODULE, Winner

KERNEL = "kernel.py"
RUNTIME = f"{RUNTIME_MODULE}.py"
REPORT = "report.json"
TRAJECTORY = "trajectory.jsonl"
PAGE = "report.html"
_ALONE = Path(__file__).parent / "alone"

_README = """# {name}

A kernel for the `{backend}` backend, written and judged by Kernelwright (job `{job}`, candidate `{candidate}`).

{figures}

```
python test_kernel.py      # right? exit code 0
python benchmark.py        # how fast, here?
```

Both need torch{needs} and nothing else. Use it: `from kernel import ModelNew` ({runtime}same constructor and
`forward` as `Model` in `problem.py`). It runs for what was judged: constructor arguments, and each tensor's dtype, rank
and device. Another call, or one with an empty tensor, raises `TypeError` or `ValueError` before the kernel
runs.{gradients}

| file | what it is |
|---|---|
| `kernel.py` | the kernel: `ModelNew` |
| `kernelwright_rt.py` | builds and calls native code for kernels that import it; no dependencies |
| `problem.py` | the reference it was proven against |
| `test_kernel.py`, `benchmark.py`, `pairing.py` | run alone, with torch only |
| `report.html` | all of it to look at: no scripts, nothing loaded |
| `report.json` | the referee's report: gates, latency, baselines, intervals |
| `profile.json`, `environment.json` | the profile and the machine the figures come from |
| `lineage.json` | the candidates it was derived from |
| `job.json` | what was asked for |
| `trajectory.jsonl` | every step that led here |
| `NOTICE.md` | whose it is |
"""

_NOTICE = """# Notice

`kernel.py` was generated for the owner of `problem.py` by the model `{model}`; Kernelwright claims no rights in it. If
`problem.py` or a kernel that the job started from is under a licence, that licence may extend to `kernel.py`: check it
before you publish. `kernelwright_rt.py`, `pairing.py`, `test_kernel.py` and `benchmark.py` are part of Kernelwright and
under the Apache License 2.0.
"""


def evidence_files(winner: Winner) -> dict[str, str]:
    """File name to text of the bundle, without the trajectory."""
    files = {
        KERNEL: delivered(winner),
        RUNTIME: winner.runtime,
        "problem.py": winner.job.spec.problem.source,
        REPORT: _json(codec.to_data(winner.report)),
        "environment.json": _json(codec.to_data(winner.report.environment)),
        "lineage.json": _json([_ancestor(entry) for entry in winner.lineage]),
        "job.json": _json(_about(winner)),
        "README.md": _readme(winner),
        "NOTICE.md": _NOTICE.format(model=winner.job.spec.model),
        **standalone_files(),
    }
    if winner.report.profile is not None:
        files["profile.json"] = _json(codec.to_data(winner.report.profile))
    return files


def standalone_files() -> dict[str, str]:
    """The test, the benchmark and what they share, as shipped beside every kernel."""
    return {path.name.removesuffix(".txt"): path.read_text() for path in sorted(_ALONE.glob("*.py.txt"))}


def figures(winner: Winner) -> str:
    """The headline in one sentence."""
    report, environment = winner.report, winner.report.environment
    if report.latency is None or report.speedup.best_baseline is None:
        return f"Verdict: {report.verdict.value}."
    interval = report.speedup.ci95
    spread = f" (95 % interval {interval[0]:.2f} to {interval[1]:.2f})" if interval else ""
    of = described(report.objective)
    collapse = report.objective.collapse if report.objective is not None else None
    counted = f" Figures: {of}." if of else ""
    counted += f" It collapses: {collapse}." if collapse else ""
    passes = report.passes
    divided = (
        ""
        if passes is None
        else f" A call is forward and backward: {passes.candidate.forward_us:.1f} µs and "
        f"{passes.candidate.backward_us:.1f} µs."
    )
    return (
        f"Verdict: {report.verdict.value}. Median {report.latency.median_us:.1f} µs, "
        f"{report.speedup.best_baseline:.2f}× the fastest baseline{spread}, on {environment.device} "
        f"({environment.cpu}, torch {environment.torch}).{counted}{divided}"
    )


def _readme(winner: Winner) -> str:
    return _README.format(
        name=winner.job.spec.problem.name,
        backend=winner.candidate.backend,
        job=winner.job.id,
        candidate=winner.candidate.id,
        figures=figures(winner),
        needs={"cpp": " and g++", "cuda": ", nvcc and a GPU", "triton": ", triton and a GPU"}.get(
            winner.candidate.backend, ""
        ),
        runtime=f"with `{RUNTIME}` beside it; " if winner.uses_runtime else "",
        gradients=""
        if winner.report.passes is not None
        else " Its gradients were not judged: a backward pass through it raises `RuntimeError`.",
    )


def _about(winner: Winner) -> dict[str, Any]:
    spec, job = winner.job.spec, winner.job
    return {
        "job_id": job.id,
        "candidate_id": winner.candidate.id,
        "problem": spec.problem.name,
        "backend": winner.candidate.backend,
        "device": spec.device,
        "needs_gpu": winner.on_gpu,
        "backward": winner.report.passes is not None,
        "model": spec.model,
        "strategy": spec.strategy,
        "created_at": job.created_at.isoformat(),
        "referee_version": winner.report.environment.referee_version,
    }


def _ancestor(entry: EvaluatedCandidate) -> dict[str, Any]:
    candidate, report = entry.candidate, entry.report
    return {
        "candidate_id": candidate.id,
        "parent_id": candidate.parent_id,
        "step": candidate.step,
        "origin": candidate.origin.value,
        "summary": candidate.summary,
        "source_sha256": candidate.source_hash,
        "verdict": report.verdict.value if report else None,
        "median_us": report.latency.median_us if report and report.latency else None,
        "speedup": codec.to_data(report.speedup) if report else None,
    }


def _json(data: Any) -> str:
    return json.dumps(data, indent=2) + "\n"
