"""A row is made of what is known about a job, wherever it ran."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from kernelwright.bench.categories import Category
from kernelwright.bench.rows import Author, BenchRow, DeviceSpending, JobFacts, refused_row, row_of
from services.domain import codec
from services.domain.candidates import EvaluatedCandidate, Origin
from services.domain.digests import CandidateDigest, digest_candidate
from services.domain.errors import ProblemError
from services.domain.evaluations import ShapeResult, Verdict
from services.domain.events import Event, EventKind, JsonValue
from services.domain.gates import GateName
from services.domain.jobs import JobStatus
from services.domain.measurements import Speedup
from services.domain.referees import REFEREE_VERSION
from services.domain.usage import Usage
from tests.doubles import a_candidate, a_report
from tests.doubles.builders import MOMENT
from tests.unit.kernelwright.bench.builders import an_item

LATER = MOMENT + timedelta(seconds=60)


def a_digest(step: int, origin: Origin, parent: int | None = None, **report: Any) -> CandidateDigest:
    made = replace(
        a_candidate(step=step), origin=origin, parent_id=None if parent is None else a_candidate(step=parent).id
    )
    return digest_candidate(EvaluatedCandidate(candidate=made, report=a_report(**report)))


def an_event(kind: EventKind, after_s: float, **data: JsonValue) -> Event:
    return Event(job_id="job-1", seq=1, kind=kind, data=data, at=MOMENT + timedelta(seconds=after_s))


VALIDATED = an_event(
    EventKind.JOB_VALIDATED, 20, seconds=7.5, device={"model": "Test CPU"}, baselines={"eager": {"median_us": 300.0}}
)


def facts(**changes: Any) -> JobFacts:
    report = a_report(median_us=100.0, eager_us=250.0, seconds=4.0)
    drafts = (a_digest(0, Origin.COMPILER, seconds=2.0), a_digest(1, Origin.REFINEMENT, 0, seconds=4.0))
    given: dict[str, Any] = {
        "job_id": "job-1",
        "status": JobStatus.SOLVED,
        "message": "all 2 rounds are used",
        "family": "pointwise",
        "operators": ("aten.relu.default",),
        "started_at": MOMENT,
        "finished_at": LATER,
        "events": (VALIDATED,),
        "candidates": drafts,
        "best_candidate_id": drafts[1].id,
        "report": report,
        "rounds": 2,
        "usage": Usage(input_tokens=10, output_tokens=5, dollars=0.1),
        "kernel": None,
    }
    return JobFacts(**(given | changes))


def made(model: str = "playbook", **changes: Any) -> BenchRow:
    return row_of(an_item(), facts(**changes), device="cpu", model=model, attempt=1, kernel_path=None)


def test_a_row_has_figures_with_intervals_and_what_they_cost() -> None:
    row = made()
    assert row.figures == {"eager": 2.5, "strongest": 2.5}
    assert row.bounds == {"eager": (2.425, 2.575), "strongest": (2.425, 2.575)}
    assert (row.latency_us, row.baselines_us, row.roofline_fraction) == (100.0, {"eager": 250.0}, 0.8)
    assert row.device_s == DeviceSpending(validation=7.5, candidates=6.0)
    assert (row.wall_s, row.tokens, row.dollars, row.candidates) == (60.0, 15, 0.1, 2)
    assert (row.category, row.hardware, row.referee_version) == (Category.ACTIVATION, "Test CPU", REFEREE_VERSION)
    assert codec.loads(BenchRow, codec.dumps(row)) == row


@pytest.mark.parametrize(
    ("origins", "model", "author", "from_compiler"),
    [
        ([(Origin.COMPILER, None)], "openai:gpt", Author.COMPILER, True),
        ([(Origin.COMPILER, None), (Origin.CONFIRMATION, 0)], "playbook", Author.COMPILER, True),
        ([(Origin.COMPILER, None), (Origin.REFINEMENT, 0)], "playbook", Author.PLAYBOOK, True),
        ([(Origin.DRAFT, None), (Origin.REPAIR, 0)], "anthropic:claude", Author.MODEL, False),
        ([(Origin.DRAFT, None)], "playbook,coder=openai:gpt", Author.MODEL, False),
        ([(Origin.DRAFT, None)], "openai:gpt,coder=playbook", Author.PLAYBOOK, False),
        ([(Origin.RECALLED, None)], "playbook", Author.MEMORY, False),
    ],
)
def test_a_row_says_who_wrote_the_best_kernel(
    origins: list[tuple[Origin, int | None]], model: str, author: Author, from_compiler: bool
) -> None:
    chain = tuple(a_digest(step, origin, parent) for step, (origin, parent) in enumerate(origins))
    row = made(model, candidates=chain, best_candidate_id=chain[-1].id)
    assert (row.author, row.from_compiler) == (author, from_compiler)


def test_an_unsolved_problem_keeps_the_reason_its_last_verdict_and_the_baselines() -> None:
    report = a_report(Verdict.REJECTED, failed_gate=GateName.COMPILE)
    row = made(status=JobStatus.UNSOLVED, message="no template for aten.conv2d", best_candidate_id=None, report=report)
    assert (row.accepted, row.verdict, row.failed_gate) == (False, Verdict.REJECTED, GateName.COMPILE)
    assert (row.message, row.baselines_us) == ("no template for aten.conv2d", {"eager": 300.0})
    assert (row.figures, row.bounds, row.author, row.gain) == ({}, {}, None, None)


def test_a_refused_problems_validation_is_timed_by_its_events() -> None:
    events = (
        an_event(EventKind.JOB_STATUS, 2, status="validating"),
        an_event(EventKind.JOB_STATUS, 9, status="refused"),
        an_event(EventKind.JOB_FINISHED, 10, status="refused"),
    )
    row = made(
        status=JobStatus.REFUSED, events=events, candidates=(), best_candidate_id=None, report=None, family=None,
        operators=(),
    )  # fmt: skip
    assert row.device_s == DeviceSpending(validation=8.0)
    assert (row.category, row.hardware, row.referee_version) == (Category.OTHER, None, None)


def test_a_problem_that_reading_refuses_has_a_row_without_a_job() -> None:
    error = ProblemError("there is no Model", remedy="Write one.", path="1_relu.py")
    row = refused_row(an_item(), error, device="cpu", at=MOMENT)
    assert (row.status, row.job_id, row.message) == (
        JobStatus.REFUSED,
        None,
        "1_relu.py: there is no Model. Write one.",
    )
    assert codec.loads(BenchRow, codec.dumps(row)) == row


def test_the_first_sets_speedup_is_kept_beside_that_over_all_sets() -> None:
    report = a_report(median_us=100, eager_us=300)
    assert report.latency is not None
    first = ShapeResult(
        shapes=((64, 64),), latency=report.latency, speedup=Speedup(best_baseline=2.0), baselines=report.baselines
    )
    other = replace(first, speedup=Speedup(best_baseline=4.5))
    row = made(report=replace(report, shapes=(first, other)))
    assert (row.figures["strongest"], row.first_set_speedup) == (3.0, 2.0)
