"""A job's report as one HTML file: no scripts, nothing loaded, every text escaped. Deterministic for one job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import jinja2

from services.domain.candidates import EvaluatedCandidate, Origin
from services.domain.digests import CandidateDigest
from services.domain.error_words import allowance, number, tensor_of, units
from services.domain.evaluations import EvaluationReport
from services.domain.jobs import Job
from services.domain.measurements import Latency
from services.domain.texts import microseconds, ratio
from services.exports import pictures
from services.exports.winner import exported_source

TEMPLATE = "report.html.j2"
QUESTIONS = {
    "screen": "Source checked for forbidden constructs: timers, frame inspection, fallbacks to the reference.",
    "compile": "Compiled in a sandbox without device or network.",
    "load": "Loaded with the reference's weights, in a process that never sees the reference.",
    "correctness": "Outputs compared for several input distributions, against a tolerance and a float64 run.",
    "integrity": "Inputs unchanged, work done on every call, nothing left running, clocks agree.",
    "generalization": "Outputs compared for shapes and seeds chosen after submission.",
    "timing": "Interleaved with the fastest baseline, caches flushed between calls.",
}
ROUNDING = 0.01
"""Medians are shown with three digits: ratios of what is shown may be off by so much."""
ERRORS_SHOWN = 8
"""Rows of the table of errors; the rest is folded."""
_MARKS = {"passed": "accepted", "failed": "rejected", "suspicious": "suspicious", "skipped": "pending"}
_WORDS = {
    "best": "★ best",
    "accepted": "accepted",
    "suspicious": "suspicious",
    "rejected": "rejected",
    "machine": "machine failed",
    "pending": "not judged",
}
_ISOLATION = {
    "docker": "containers",
    "namespaces": "namespaces with a user of its own",
    "limits": "resource limits only",
}
_SIZE = {
    "plot_width": pictures.PLOT_WIDTH,
    "plot_height": pictures.PLOT_HEIGHT,
    "box_width": pictures.BOX_WIDTH,
    "box_height": pictures.BOX_HEIGHT,
}


def static_report(job: Job, candidates: Sequence[CandidateDigest], best: EvaluatedCandidate | None) -> str:
    """The page. `best` is the job's accepted candidate with its report, or None."""
    judged = best if best is not None and best.report is not None else None
    report = None if judged is None else judged.report
    rows = [] if report is None else _latencies(report)
    return _template().render(
        job=job,
        charged=job.steps_done - sum(one.origin is Origin.COMPILER for one in candidates),
        candidates=candidates,
        best=judged,
        latencies=rows,
        reason=_reason(rows),
        errors=None if report is None else report.errors,
        errors_shown=ERRORS_SHOWN,
        surroundings=[] if report is None else _surroundings(report),
        source=None if judged is None else exported_source(judged),
        plot=pictures.speedups(candidates),
        tree=pictures.descent(candidates, job.best_candidate_id),
        questions=QUESTIONS,
        marks=_MARKS,
        words=_WORDS,
        size=_SIZE,
    )


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,  # everything here was written by people, models or compilers
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"micros": _micros, "ratio": ratio, "allowance": allowance, "number": number}
    environment.filters |= {"ulp": units, "draw": tensor_of}
    return environment.get_template(TEMPLATE)


def _micros(value: float | None) -> str:
    return "–" if value is None else microseconds(value)


@dataclass(frozen=True, kw_only=True)
class _Row:
    """A line of the table of latencies."""

    name: str
    latency: Latency
    speedup: float | None = None
    """The kernel's over this baseline; None in the kernel's own line."""
    of_medians: float | None = None
    """What the two medians alone give."""

    @property
    def differs(self) -> bool:
        """Whether the speedup is not the ratio of the shown medians, beyond their rounding."""
        if not self.speedup or not self.of_medians:
            return False
        return abs(self.of_medians / self.speedup - 1) > ROUNDING


def _latencies(report: EvaluationReport) -> list[_Row]:
    if report.latency is None:
        return []
    own, there, speedup = report.latency.median_us, report.baselines, report.speedup
    compared = (
        ("eager", there.eager, speedup.eager),
        ("torch.compile", there.compile, speedup.compile),
        ("torch.compile, max-autotune-no-cudagraphs", there.compile_max, speedup.compile_max),
    )
    return [_Row(name="this kernel", latency=report.latency)] + [
        _Row(name=name, latency=latency, speedup=gain, of_medians=latency.median_us / own if own else None)
        for name, latency, gain in compared
        if latency is not None
    ]


def _reason(rows: Sequence[_Row]) -> str | None:
    """Why speedups are not the ratios of the medians beside them; None where they are."""
    given = [f"{ratio(one.of_medians)} ({one.name})" for one in rows if one.differs]
    return (
        "Speedup is the median over pairs of calls taken in turns with the fastest baseline, which cancels the "
        f"machine's drift; the medians alone give {' and '.join(given)}."
        if given
        else None
    )


def _surroundings(report: EvaluationReport) -> list[tuple[str, str]]:
    there, tuned = report.environment, report.tuned
    facts = {
        "Device": there.device,
        "Processor": there.cpu,
        "Driver": there.driver,
        "PyTorch": there.torch,
        "Triton": there.triton,
        "Toolkit": there.toolkit,
        "TF32": "allowed on both sides" if there.tf32 else "off on both sides",
        "Isolation": _ISOLATION.get(there.isolation, there.isolation),
        "Referee": there.referee_version,
        "Clocks": ", ".join(f"{name} {mhz:g} MHz" for name, mhz in there.clocks.items()) or None,
        "Tuned": None
        if tuned is None
        else f"{', '.join(f'{name}={value}' for name, value in tuned.parameters.items())} (of {tuned.tried} settings)",
    }
    return [(name, value) for name, value in facts.items() if value]
