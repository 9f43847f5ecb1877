"""Two measurements of one kernel that contradict each other: neither is believed alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from services.domain.candidates import candidate_id, evaluation_id
from services.domain.evaluations import EvaluationReport, HeldOutResult, ShapeResult
from services.domain.events import EventKind
from services.domain.gates import GateName
from services.domain.jobs import Budget, JobStatus
from services.domain.measurements import Gain, Speedup
from services.domain.objectives import headline, parse
from tests.doubles import FakeQueue, a_job, a_report
from tests.doubles.builders import a_latency
from tests.unit.orchestrator.world import World

FIRST = a_report(median_us=100.0)
"""2.00×, 1.94 to 2.06."""
COLLAPSED = Speedup(best_baseline=0.5, ci95=(0.45, 0.55))


async def measured_twice(again: EvaluationReport) -> tuple[World, JobStatus]:
    """A job of four rounds whose last measures the first round's kernel a second time."""
    slower = a_report(median_us=150.0)
    world = World(queue=FakeQueue([FIRST, slower, slower, again]), confirmations=1)
    job = await world.run(a_job(budget=Budget(rounds=4)))
    assert world.queue.evaluated[-1].thorough
    return world, job.status


async def reports(world: World) -> list[EvaluationReport]:
    found = [await world.candidates.report(evaluation_id(candidate_id("job-1", step))) for step in (0, 3)]
    return [report for report in found if report is not None]


async def test_both_intervals_cover_both_and_say_so() -> None:
    world, status = await measured_twice(a_report(median_us=125.0))

    first, again = await reports(world)

    assert first.speedup.ci95 == again.speedup.ci95 == pytest.approx((1.6 * 0.97, 2.0 * 1.03))
    assert (first.speedup.best_baseline, again.speedup.best_baseline) == (2.0, 1.6)
    for report in (first, again):
        gate = report.gate(GateName.TIMING)
        assert gate is not None
        assert "contradict each other" in gate.detail
    (told,) = [event.data["message"] for event in world.log(EventKind.JOB_NOTICE)]
    assert told == "round 4 contradicts the first measurement: both intervals are 1.55 to 2.06 now"
    assert status is JobStatus.SOLVED


async def test_a_gain_that_its_repetition_does_not_show_is_none() -> None:
    world, status = await measured_twice(a_report(median_us=210.0))

    first, again = await reports(world)

    assert (first.gain, again.gain) == (Gain.WITHIN_NOISE, Gain.WITHIN_NOISE)
    assert status is JobStatus.NO_GAIN


async def test_measurements_that_agree_stay_as_they_are() -> None:
    again = a_report(median_us=102.0)
    world, _ = await measured_twice(again)

    assert await reports(world) == [FIRST, again]
    assert world.log(EventKind.JOB_NOTICE) == []


async def test_a_kernel_that_collapses_on_held_out_shapes_does_not_win() -> None:
    fallen = headline(parse(""), [a_shape(2.0)], [HeldOutResult(number=1, latency=a_latency(900.0), speedup=COLLAPSED)])
    again = replace(FIRST, speedup=fallen.speedup, objective=fallen.objective, gain=Gain.NONE)
    world, status = await measured_twice(again)

    assert world.queue.evaluated[-1].times_held_out
    assert not world.queue.evaluated[0].times_held_out
    assert await reports(world) == [FIRST, again]  # they do not contradict each other: they are of other shapes
    assert status is JobStatus.NO_GAIN
    (job,) = [await world.jobs.get("local", "job-1")]
    assert job.message is not None
    assert (
        "collapses on held-out shapes: 2.00× the fastest baseline on the announced input sets, and 0.50×" in job.message
    )


async def test_the_next_kernel_is_measured_after_one_that_collapsed() -> None:
    fallen = headline(parse(""), [a_shape(2.0)], [HeldOutResult(number=1, latency=a_latency(900.0), speedup=COLLAPSED)])
    again = replace(FIRST, speedup=fallen.speedup, objective=fallen.objective, gain=Gain.NONE)
    second = a_report(median_us=150.0)
    slower = [second, a_report(median_us=180.0), a_report(median_us=190.0), a_report(median_us=195.0)]
    world = World(queue=FakeQueue([FIRST, *slower, again, second]), confirmations=1)
    job = await world.run(a_job(budget=Budget(rounds=7)))

    assert [asked.times_held_out for asked in world.queue.evaluated].count(True) >= 1
    assert job.status is JobStatus.SOLVED
    assert job.best_candidate_id == candidate_id("job-1", 6)


def a_shape(ratio: float) -> ShapeResult:
    figures = a_report(median_us=200.0 / ratio)
    assert figures.latency is not None
    return ShapeResult(shapes=((8,),), latency=figures.latency, speedup=figures.speedup, name="get_inputs")
