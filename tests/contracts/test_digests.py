"""What the short forms of jobs, candidates and steps promise, on every store."""

from __future__ import annotations

from dataclasses import replace

import pytest

from services.domain.chat import AgentRole, ChatMessage, MoveFact, PlanFact
from services.domain.digests import BestSpeedup, digest_candidate, sum_costs
from services.domain.errors import NotFoundError
from services.domain.evaluations import Tuned, Verdict
from services.domain.experiences import ExperienceUse
from services.domain.gates import GateName
from services.domain.jobs import JobFilter, JobStatus, Lease
from services.domain.measurements import Gain
from services.domain.profiles import Profile, Roofline
from services.domain.steps import ModelCall, Step, StepRecord
from services.domain.usage import Usage
from tests.contracts.conftest import Stores
from tests.doubles import a_candidate, a_job, a_report, a_step, an_evaluation_request, an_experience
from tests.doubles.jobs import digest_step


async def leased(stores: Stores, job_id: str = "job-1") -> Lease:
    await stores.jobs.create(a_job(job_id))
    lease = await stores.jobs.acquire("one", 30, job_id)
    assert lease is not None
    return lease


def a_call(role: AgentRole, *, dollars: float | None = 0.5, error: str | None = None) -> ModelCall:
    return ModelCall(
        role=role,
        model="big",
        prompt=(ChatMessage(role="user", content="Write it."),),
        prompt_hash="0123",
        reply="{}",
        usage=Usage(calls=1, input_tokens=100, cached_tokens=40, output_tokens=20, dollars=dollars),
        seconds=1.5,
        error=error,
    )


def a_called_step(*calls: ModelCall) -> Step:
    plan = PlanFact(start_point=None, hypothesis="fuse", moves=(MoveFact(name="fuse"),), expected_gain=2.0)
    return replace(a_step(), plan=plan, calls=calls, experiences_used=("exp-1", "exp-gone"))


async def test_a_candidates_digest_is_what_its_whole_report_says(stores: Stores) -> None:
    lease = await leased(stores)
    judged, waiting = replace(a_candidate(), parent_id="cand-0"), a_candidate(step=1)
    report = replace(
        a_report(),
        roofline=Roofline(bytes=8, flops=4, floor_us=2.0, fraction=0.25, bound="memory"),
        profile=Profile(source="none", metrics={}, bottleneck="memory", reason=""),
        tuned=Tuned(parameters={"BLOCK": 64}, tried=3),
        self_attested="TOLERANCE is looser",
    )
    await stores.candidates.add(lease, judged)
    await stores.candidates.add(lease, waiting)
    await stores.candidates.finish(an_evaluation_request(judged), report)
    found = await stores.candidates.digests("local", "job-1")
    whole = await stores.candidates.list("local", "job-1")
    assert found == tuple(map(digest_candidate, whole))
    assert (found[0].roofline_fraction, found[0].bottleneck, found[0].tuned) == (0.25, "memory", 3)
    assert (found[0].self_attested, found[1].self_attested) == ("TOLERANCE is looser", None)
    assert (found[1].verdict, found[1].median_us) == (None, None)


async def test_a_rejected_candidates_digest_names_the_gate_and_has_no_figures(stores: Stores) -> None:
    lease = await leased(stores)
    await stores.candidates.add(lease, a_candidate())
    report = replace(a_report(Verdict.REJECTED, failed_gate=GateName.COMPILE), latency=None)
    await stores.candidates.finish(an_evaluation_request(a_candidate()), report)
    (found,) = await stores.candidates.digests("local", "job-1")
    assert (found.verdict, found.failed_gate, found.median_us) == (Verdict.REJECTED, GateName.COMPILE, None)


async def test_speedups_are_of_timed_candidates_of_the_asking_team(stores: Stores) -> None:
    lease = await leased(stores)
    timed, waiting = a_candidate(), a_candidate(step=1)
    await stores.candidates.add(lease, timed)
    await stores.candidates.add(lease, waiting)
    report = a_report()
    await stores.candidates.finish(an_evaluation_request(timed), report)
    assert report.speedup.best_baseline is not None
    ids = [timed.id, waiting.id, "cand-none"]
    assert await stores.candidates.speedups("local", ids) == {
        timed.id: BestSpeedup(ratio=report.speedup.best_baseline, ci95=report.speedup.ci95)
    }
    assert await stores.candidates.speedups("theirs", ids) == {}


@pytest.mark.parametrize(
    ("bounds", "gain"),
    [((1.01, 1.3), Gain.SURELY), ((0.99, 1.3), Gain.WITHIN_NOISE), ((0.5, 0.99), Gain.NONE), (None, None)],
)
async def test_a_candidate_and_a_jobs_best_have_the_gain_of_their_interval(
    stores: Stores, bounds: tuple[float, float] | None, gain: Gain | None
) -> None:
    lease, candidate, report = await leased(stores), a_candidate(), a_report()
    await stores.candidates.add(lease, candidate)
    report = replace(report, speedup=replace(report.speedup, ci95=bounds))
    await stores.candidates.finish(an_evaluation_request(candidate), report)
    (found,) = await stores.candidates.digests("local", "job-1")
    best = await stores.candidates.speedups("local", [candidate.id])
    assert (found.gain, best[candidate.id].gain) == (gain, gain)


async def test_a_rejected_candidate_has_no_gain_however_fast_it_was(stores: Stores) -> None:
    await stores.candidates.add(await leased(stores), a_candidate())
    report = replace(a_report(), verdict=Verdict.REJECTED)
    await stores.candidates.finish(an_evaluation_request(a_candidate()), report)
    (found,) = await stores.candidates.digests("local", "job-1")
    assert (found.gain, found.speedup) == (None, report.speedup)


async def test_a_steps_digest_has_its_calls_without_their_texts(stores: Stores) -> None:
    lease = await leased(stores)
    step = a_called_step(a_call(AgentRole.PLANNER), a_call(AgentRole.CODER, error="no JSON"))
    await stores.jobs.record_step(lease, StepRecord(step=step))
    (found,) = await stores.jobs.step_digests("local", "job-1")
    assert found == digest_step(step)
    assert (found.hypothesis, found.experiences, found.calls[1].error) == ("fuse", 2, "no JSON")


async def test_a_recorded_step_shows_what_the_experiences_it_used_were_worth(stores: Stores) -> None:
    lease = await leased(stores)
    await stores.memory.remember([an_experience("exp-1")])
    step = a_called_step(a_call(AgentRole.PLANNER))
    uses = (ExperienceUse(experience_id="exp-1", similarity=0.75, value=0.5),)
    await stores.jobs.record_step(lease, StepRecord(step=step, uses=uses))
    found = await stores.jobs.step("local", "job-1", 0)
    assert found.step == step
    known, gone = found.uses
    assert (known.title, known.similarity, known.value) == ("vectorise the inner loop", 0.75, 0.5)
    assert (gone.experience_id, gone.title, gone.value) == ("exp-gone", None, None)


async def test_digests_of_what_is_not_there_or_not_ours_are_not_found(stores: Stores) -> None:
    await leased(stores)
    for team, job in (("local", "job-none"), ("theirs", "job-1")):
        with pytest.raises(NotFoundError):
            await stores.candidates.digests(team, job)
        with pytest.raises(NotFoundError):
            await stores.jobs.step_digests(team, job)
        with pytest.raises(NotFoundError):
            await stores.jobs.step(team, job, 0)
    with pytest.raises(NotFoundError):
        await stores.jobs.step("local", "job-1", 0)


async def test_costs_are_summed_by_agent_and_an_unknown_price_stays_unknown(stores: Stores) -> None:
    lease = await leased(stores)
    calls = (a_call(AgentRole.CODER), a_call(AgentRole.CODER, error="no JSON"), a_call(AgentRole.JUDGE, dollars=None))
    await stores.jobs.record_step(lease, StepRecord(step=a_called_step(*calls)))
    costs = sum_costs(await stores.jobs.step_digests("local", "job-1"), ())
    coder, judge = costs.by_agent
    assert (coder.usage.calls, coder.usage.input_tokens, coder.usage.dollars, coder.failed) == (2, 200, 1.0, 1)
    assert (judge.role, judge.usage.dollars, costs.total.dollars) == (AgentRole.JUDGE, None, None)


async def test_costs_hold_what_calls_without_an_answer_used_in_a_step_that_is_not_recorded(stores: Stores) -> None:
    lease = await leased(stores)
    await stores.jobs.record_step(lease, StepRecord(step=a_called_step(a_call(AgentRole.CODER))))
    await stores.jobs.keep_call(lease, 1, a_call(AgentRole.CODER, error="broke off"))
    lost = (await stores.jobs.kept_calls("local", "job-1"))[1]
    costs = sum_costs(await stores.jobs.step_digests("local", "job-1"), (), lost)
    (coder,) = costs.by_agent
    assert (coder.usage.calls, coder.usage.input_tokens, coder.failed) == (2, 200, 1)


async def test_jobs_are_found_by_words_of_their_names_and_by_all_of_their_tags(stores: Stores) -> None:
    spec = a_job().spec
    for index in range(6):
        tags = ("nightly", "GPU") if index % 2 else ("nightly",)
        named = replace(spec, problem=replace(spec.problem, name=f"soft_max {index}"), tags=tags)
        await stores.jobs.create(replace(a_job(f"job-{index}"), spec=named))
    await stores.jobs.request("local", "job-1", "cancel")

    async def ids(wanted: JobFilter, limit: int = 50) -> set[str]:
        found: set[str] = set()
        cursor: str | None = None
        while True:
            page = await stores.jobs.list("local", wanted=wanted, limit=limit, cursor=cursor)
            assert len(page.jobs) <= limit
            found |= {job.id for job in page.jobs}
            cursor = page.next_cursor
            if cursor is None:
                return found

    assert await ids(JobFilter(text="MAX 3")) == {"job-3"}
    assert await ids(JobFilter(text="gpu"), limit=1) == {"job-1", "job-3", "job-5"}
    assert await ids(JobFilter(tags=("nightly", "GPU")), limit=2) == {"job-1", "job-3", "job-5"}
    both = JobFilter(statuses=frozenset({JobStatus.CANCELLED, JobStatus.FAILED}), text="soft")
    assert await ids(both) == {"job-1"}
    assert await ids(JobFilter(text="100%_")) == set()


async def test_tags_are_found_whole_and_nothing_else_for_them(stores: Stores) -> None:
    spec = a_job().spec
    tagged = {
        "first": ("night", "gpu"),
        "last": ("gpu", "night"),
        "part": ("nightly",),
        "case": ("Night",),
        "wild": ("100%_/x",),
        "name": (),
    }
    for job_id, tags in tagged.items():
        named = replace(spec, problem=replace(spec.problem, name="night"), tags=tags)
        await stores.jobs.create(replace(a_job(job_id), spec=named))

    async def ids(*tags: str) -> set[str]:
        page = await stores.jobs.list("local", wanted=JobFilter(tags=tags))
        return {job.id for job in page.jobs}

    assert await ids("night") == {"first", "last"}
    assert await ids("night", "gpu") == {"first", "last"}
    assert await ids("Night") == {"case"}
    assert await ids("100%_/x") == {"wild"}
    assert await ids("100%") == await ids("cpp") == await ids("nigh") == set()
