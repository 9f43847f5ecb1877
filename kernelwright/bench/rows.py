"""One problem's outcome, made of what is known about its job. Field names are JSON names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from kernelwright.bench.categories import Category, category_of
from kernelwright.suites.suite import SuiteProblem
from services.domain.candidates import Origin
from services.domain.digests import CandidateDigest
from services.domain.errors import ProblemError
from services.domain.evaluations import EvaluationReport, Verdict
from services.domain.events import Event, EventKind, JsonValue
from services.domain.gates import GateName
from services.domain.jobs import JobStatus
from services.domain.measurements import BASELINES, Gain, Speedup, gain_of
from services.domain.ratios import baseline_bounds
from services.domain.usage import Usage

Bounds = tuple[float, float]
"""Of a 95 % interval."""
STRONGEST = "strongest"
"""The name of the fastest baseline beside the names of all."""


class Author(StrEnum):
    """Who wrote a kernel."""

    COMPILER = "compiler"
    """`torch.compile`: the draft that a job begins with."""
    PLAYBOOK = "playbook"
    """Our templates and moves."""
    MODEL = "model"
    """A chat model."""
    MEMORY = "memory"
    """Another job of the team: recalled, and proved again."""


@dataclass(frozen=True, kw_only=True)
class DeviceSpending:
    """Seconds that workers spent on a problem."""

    validation: float = 0.0
    """On the reference: its checks and trace, baselines that were measured before the first candidate, and the
    compiler's draft."""
    candidates: float = 0.0
    """On judging candidates; a dear baseline (`compile_max`) is measured with the first of them."""

    @property
    def total(self) -> float:
        """Both."""
        return self.validation + self.candidates

    def __add__(self, other: DeviceSpending) -> DeviceSpending:
        return DeviceSpending(
            validation=self.validation + other.validation, candidates=self.candidates + other.candidates
        )


@dataclass(frozen=True, kw_only=True)
class Versions:
    """What a row's figures depend on besides the hardware."""

    driver: str | None = None
    torch: str | None = None
    triton: str | None = None
    isolation: str | None = None


@dataclass(frozen=True, kw_only=True)
class BenchRow:
    """One problem's outcome; defaults are those of a problem that no job was made for."""

    key: str
    """Name of the row within its results."""
    number: int
    """What `--problems` calls it."""
    problem: str
    source_hash: str
    """Content hash of the problem's text."""
    job_id: str | None
    """None where reading the problem was enough to refuse it."""
    attempt: int = 1
    """2 and more where a job that the machine failed was given another (`--retry-failed`)."""
    status: JobStatus
    accepted: bool
    """Whether there is a kernel that is correct and honest."""
    verdict: Verdict | None = None
    """On the best kernel, or on the last candidate where none was accepted."""
    failed_gate: GateName | None = None
    message: str | None
    """Why the job ended as it did; for what is unsolved or refused, the reason."""
    family: str | None = None
    """Operator family of the traced reference."""
    category: Category
    group: str | None = None
    """The suite's own category."""
    latency_us: float | None = None
    """Median of the best kernel."""
    latency_ci95_us: Bounds | None = None
    baselines_us: dict[str, float] = field(default_factory=dict)
    """Baseline to its median."""
    speedup: Speedup = field(default_factory=Speedup)
    bounds: dict[str, Bounds] = field(default_factory=dict)
    """Baseline, and `strongest`, to the 95 % interval of the speedup over it."""
    gain: Gain | None = None
    """Whether the best kernel is faster than the strongest baseline, by the interval."""
    roofline_fraction: float | None = None
    """Of the first input set, like `roofline_bound`."""
    first_set_speedup: float | None = None
    """Over the strongest baseline on that set, whatever the objective; None where the kernel collapses on others."""
    roofline_bound: str | None = None
    rounds: int = 0
    candidates: int = 0
    device_s: DeviceSpending = DeviceSpending()
    wall_s: float | None = None
    tokens: int = 0
    dollars: float | None
    """None where a price is unknown."""
    author: Author | None = None
    """Who wrote the best kernel."""
    from_compiler: bool = False
    """Whether it descends from the compiler's draft, or is it."""
    kernel_path: str | None = None
    """Its file, within the results' folder."""
    device: str
    hardware: str | None = None
    """The device's own name; None where no worker saw the problem."""
    referee_version: str | None = None
    """None where no candidate was judged."""
    versions: Versions = Versions()
    finished_at: datetime

    @property
    def figures(self) -> dict[str, float]:
        """Speedups by baseline, `strongest` included, of those measured."""
        named = {name: getattr(self.speedup, name) for name in BASELINES} | {STRONGEST: self.speedup.best_baseline}
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class JobFacts:
    """What became of a problem's job, wherever it ran."""

    job_id: str
    status: JobStatus
    message: str | None
    family: str | None
    operators: tuple[str, ...]
    """Targets of the traced graph."""
    started_at: datetime | None
    finished_at: datetime
    events: tuple[Event, ...]
    """At least those of status, validation and end."""
    candidates: tuple[CandidateDigest, ...]
    best_candidate_id: str | None
    report: EvaluationReport | None
    """Of the best candidate, or of the last one where none was accepted."""
    rounds: int
    usage: Usage
    kernel: Path | None
    """File of the best kernel."""


def row_of(
    item: SuiteProblem, facts: JobFacts, *, device: str, model: str, attempt: int, kernel_path: str | None
) -> BenchRow:
    """The row of a job that has ended; `device` and `model` are those it asked for."""
    report = facts.report
    accepted = facts.best_candidate_id is not None
    best = report if accepted else None
    validated = _validated(facts.events)
    family, chain = facts.family, _lineage(facts.candidates, facts.best_candidate_id)
    return BenchRow(
        key=item.key,
        number=item.number,
        problem=item.problem.name,
        source_hash=item.source_hash,
        job_id=facts.job_id,
        attempt=attempt,
        status=facts.status,
        accepted=accepted,
        verdict=None if report is None else report.verdict,
        failed_gate=None if report is None else report.failed_gate,
        message=facts.message,
        family=family,
        category=category_of(family, facts.operators),
        group=item.group,
        latency_us=None if best is None or best.latency is None else best.latency.median_us,
        latency_ci95_us=None if best is None or best.latency is None else best.latency.ci95_us,
        baselines_us=_baselines(best, validated),
        speedup=Speedup() if best is None else best.speedup,
        bounds={} if best is None else _bounds(best),
        gain=None if best is None else gain_of(best.speedup),
        roofline_fraction=None if best is None or best.roofline is None else best.roofline.fraction,
        first_set_speedup=None if best is None else _first_set(best),
        roofline_bound=None if best is None or best.roofline is None else best.roofline.bound,
        rounds=facts.rounds,
        candidates=len(facts.candidates),
        device_s=DeviceSpending(
            validation=_validation_s(facts.events, validated),
            candidates=sum(candidate.device_s for candidate in facts.candidates),
        ),
        wall_s=None if facts.started_at is None else (facts.finished_at - facts.started_at).total_seconds(),
        tokens=facts.usage.tokens,
        dollars=facts.usage.dollars,
        author=_author(chain, model),
        from_compiler=any(candidate.origin is Origin.COMPILER for candidate in chain),
        kernel_path=kernel_path,
        device=device,
        hardware=_hardware(validated),
        referee_version=None if report is None else report.environment.referee_version,
        versions=Versions() if report is None else _versions(report),
        finished_at=facts.finished_at,
    )


def refused_row(item: SuiteProblem, error: ProblemError, *, device: str, at: datetime) -> BenchRow:
    """The row of a problem that no job was made for."""
    return BenchRow(
        key=item.key,
        number=item.number,
        problem=item.problem.name,
        source_hash=item.source_hash,
        job_id=None,
        status=JobStatus.REFUSED,
        accepted=False,
        message=str(error),
        category=Category.OTHER,
        group=item.group,
        dollars=0.0,
        device=device,
        finished_at=at,
    )


def _validated(events: Sequence[Event]) -> Mapping[str, JsonValue]:
    """What the job's validation told; empty where there was none, or the problem was refused."""
    return next((event.data for event in events if event.kind is EventKind.JOB_VALIDATED), {})


def _validation_s(events: Sequence[Event], validated: Mapping[str, JsonValue]) -> float:
    """Seconds of the worker's validation; between its events where it did not say (a refusal, an older server)."""
    told = validated.get("seconds")
    if isinstance(told, int | float):
        return float(told)
    begin = next((event.at for event in events if event.data.get("status") == JobStatus.VALIDATING.value), None)
    ends = (EventKind.JOB_VALIDATED, EventKind.JOB_FINISHED)
    end = next((event.at for event in events if event.kind in ends), None)
    return 0.0 if begin is None or end is None else max(0.0, (end - begin).total_seconds())


def _hardware(validated: Mapping[str, JsonValue]) -> str | None:
    sheet = validated.get("device")
    return str(sheet["model"]) if isinstance(sheet, dict) and sheet.get("model") else None


def _baselines(best: EvaluationReport | None, validated: Mapping[str, JsonValue]) -> dict[str, float]:
    """Medians as the best kernel's report has them; without one, those of the validation."""
    if best is not None:
        found = {name: getattr(best.baselines, name) for name in BASELINES}
        return {name: latency.median_us for name, latency in found.items() if latency is not None}
    told = validated.get("baselines")
    named = {name: told.get(name) for name in BASELINES} if isinstance(told, dict) else {}
    medians = {name: latency.get("median_us") for name, latency in named.items() if isinstance(latency, dict)}
    return {name: float(median) for name, median in medians.items() if isinstance(median, int | float)}


def _bounds(best: EvaluationReport) -> dict[str, Bounds]:
    found = {name: baseline_bounds(best, name) for name in BASELINES} | {STRONGEST: best.speedup.ci95}
    return {name: bounds for name, bounds in found.items() if bounds is not None}


def _first_set(best: EvaluationReport) -> float | None:
    """The speedup on the set that the roofline is of; None for a kernel that collapses on other shapes."""
    if best.collapses:
        return None
    return best.shapes[0].speedup.best_baseline if best.shapes else best.speedup.best_baseline


def _versions(report: EvaluationReport) -> Versions:
    there = report.environment
    return Versions(driver=there.driver, torch=there.torch, triton=there.triton, isolation=there.isolation)


def _lineage(candidates: Sequence[CandidateDigest], best: str | None) -> tuple[CandidateDigest, ...]:
    """The best candidate and what it was made from, itself first; what only measures it again is left out."""
    known = {candidate.id: candidate for candidate in candidates}
    return tuple(each for each in _ancestors(known, best) if each.origin is not Origin.CONFIRMATION)


def _ancestors(known: Mapping[str, CandidateDigest], start: str | None) -> Iterator[CandidateDigest]:
    while start is not None and start in known:
        yield known[start]
        start = known[start].parent_id


def _author(chain: Sequence[CandidateDigest], model: str) -> Author | None:
    if not chain:
        return None
    if chain[0].origin is Origin.COMPILER:
        return Author.COMPILER
    if chain[0].origin is Origin.RECALLED:
        return Author.MEMORY
    return Author.PLAYBOOK if _coder(model) == "playbook" else Author.MODEL


def _coder(model: str) -> str:
    """Who writes code, of a model's name that may differ by role: `playbook,coder=openai:NAME`."""
    default, *roles = (part.strip() for part in model.split(","))
    named = dict(part.replace(" ", "").split("=", 1) for part in roles if "=" in part)
    return named.get("coder", default)
