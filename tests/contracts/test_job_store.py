"""What every `JobStore` promises."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from services.domain.chat import AgentRole, ChatMessage, MoveFact, PlanFact
from services.domain.errors import ConfigurationError, ConflictError, LeaseLostError, NotFoundError
from services.domain.events import EventKind
from services.domain.experiences import ExperienceUse
from services.domain.jobs import Job, JobSpec, JobStatus, Lease
from services.domain.steps import ModelCall, NewEvent, Step, StepRecord
from services.domain.usage import Usage
from tests.contracts.conftest import Stores
from tests.doubles import a_job, a_problem, a_step, an_analysis, an_experience
from tests.doubles.builders import MOMENT


async def leased(stores: Stores, job_id: str = "job-1", owner: str = "one") -> Lease:
    await stores.jobs.create(a_job(job_id))
    lease = await stores.jobs.acquire(owner, 30, job_id)
    assert lease is not None
    return lease


async def taken_over(stores: Stores, lease: Lease) -> Lease:
    """Another orchestrator has the job after the first one's lease ran out."""
    stores.clock.advance(31)
    other = await stores.jobs.acquire("two", 30, lease.job_id)
    assert other is not None
    return other


def a_full_step(index: int = 0) -> Step:
    call = ModelCall(
        role=AgentRole.CODER,
        model="playbook",
        prompt=(ChatMessage(role="system", content="write ×"), ChatMessage(role="user", content="NUL \0 inside")),
        prompt_hash="ab" * 32,
        reply='{"source": "…"}',
        usage=Usage(calls=1, input_tokens=10, cached_tokens=3, output_tokens=5, reasoning_tokens=2, dollars=None),
        seconds=1.25,
        error="not JSON",
    )
    plan = PlanFact(
        start_point=None,
        hypothesis="fuse",
        moves=(MoveFact(name="vectorise", parameters=(("width", 8), ("fma", True))),),
        expected_gain=1.5,
    )
    step = a_step(index=index)
    return replace(
        step,
        plan=plan,
        calls=(call, replace(call, error=None)),
        critique="too slow",
        experiences_used=("exp-b", "exp-a"),
    )


async def test_a_job_comes_back_as_it_was_stored(stores: Stores) -> None:
    spec = JobSpec(problem=a_problem("class Model: ...  # ×"), seed_candidate="class ModelNew: ...", tags=("a", "b"))
    job = a_job(spec=spec)
    await stores.jobs.create(job)
    assert await stores.jobs.get(job.team_id, job.id) == job


async def test_a_new_job_has_its_first_event(stores: Stores) -> None:
    await stores.jobs.create(a_job())
    (event,) = await stores.events.read("job-1")
    assert (event.seq, event.kind, event.data["status"]) == (1, EventKind.JOB_STATUS, "queued")


async def test_a_second_job_with_the_same_id_is_a_conflict(stores: Stores) -> None:
    await stores.jobs.create(a_job())
    with pytest.raises(ConflictError):
        await stores.jobs.create(a_job())
    assert len(await stores.events.read("job-1")) == 1


async def test_another_teams_job_is_not_found(stores: Stores) -> None:
    await stores.jobs.create(a_job(team_id="ours"))
    with pytest.raises(NotFoundError):
        await stores.jobs.get("theirs", "job-1")
    with pytest.raises(NotFoundError):
        await stores.jobs.steps("theirs", "job-1")
    with pytest.raises(NotFoundError):
        await stores.jobs.request("theirs", "job-1", "cancel")
    assert (await stores.jobs.get("ours", "job-1")).cancel_requested is False
    assert (await stores.jobs.list("theirs")).jobs == ()


async def test_a_listing_pages_from_the_newest_to_the_oldest_without_loss(stores: Stores) -> None:
    for number in range(7):
        # Two of a kind share a moment, so that the page's edge falls between equals.
        await stores.jobs.create(a_job(f"job-{number}", created_at=MOMENT + timedelta(seconds=number // 2)))
    seen: list[str] = []
    cursor = None
    for _ in range(4):
        page = await stores.jobs.list("local", limit=2, cursor=cursor)
        seen += [job.id for job in page.jobs]
        cursor = page.next_cursor
    assert seen == ["job-6", "job-5", "job-4", "job-3", "job-2", "job-1", "job-0"]
    assert cursor is None


async def test_a_job_that_arrives_while_paging_moves_no_page(stores: Stores) -> None:
    for number in range(4):
        await stores.jobs.create(a_job(f"job-{number}", created_at=MOMENT + timedelta(seconds=number)))
    first = await stores.jobs.list("local", limit=2)
    await stores.jobs.create(a_job("job-9", created_at=MOMENT + timedelta(seconds=9)))
    second = await stores.jobs.list("local", limit=2, cursor=first.next_cursor)
    assert [job.id for job in second.jobs] == ["job-1", "job-0"]


async def test_a_listing_filters_by_status(stores: Stores) -> None:
    await stores.jobs.create(a_job("job-1"))
    await stores.jobs.create(a_job("job-2"))
    await stores.jobs.request("local", "job-2", "cancel")
    page = await stores.jobs.list("local", status=JobStatus.CANCELLED)
    assert [job.id for job in page.jobs] == ["job-2"]


async def test_the_oldest_job_is_leased_first(stores: Stores) -> None:
    await stores.jobs.create(a_job("job-new", created_at=MOMENT + timedelta(seconds=1)))
    await stores.jobs.create(a_job("job-old"))
    leases = [await stores.jobs.acquire("one", 30) for _ in range(3)]
    assert [lease and lease.job_id for lease in leases] == ["job-old", "job-new", None]


async def test_of_two_orchestrators_racing_for_a_job_one_gets_it(stores: Stores) -> None:
    await stores.jobs.create(a_job())
    leases = await asyncio.gather(*(stores.jobs.acquire(f"racer-{n}", 30, "job-1") for n in range(8)))
    assert len([lease for lease in leases if lease is not None]) == 1


async def test_racing_orchestrators_never_share_a_job_and_leave_none(stores: Stores) -> None:
    for number in range(12):
        await stores.jobs.create(a_job(f"job-{number:02}"))
    # PostgreSQL may show a racer no free row while another holds the lock, so each comes back once more.
    leases = [
        lease
        for _ in range(3)
        for lease in await asyncio.gather(*(stores.jobs.acquire(f"racer-{n}", 30) for n in range(8)))
        if lease is not None
    ]
    assert sorted(lease.job_id for lease in leases) == [f"job-{number:02}" for number in range(12)]


async def test_each_new_holder_gets_a_higher_token(stores: Stores) -> None:
    lease = await leased(stores)
    other = await taken_over(stores, lease)
    assert other.token == lease.token + 1
    await stores.jobs.release(other)
    third = await stores.jobs.acquire("three", 30)
    assert third is not None
    assert third.token == other.token + 1


async def test_a_renewed_lease_keeps_others_out(stores: Stores) -> None:
    lease = await leased(stores)
    stores.clock.advance(20)
    renewed = await stores.jobs.renew(lease, 30)
    assert renewed.token == lease.token
    stores.clock.advance(20)
    assert await stores.jobs.acquire("two", 30) is None


async def test_a_released_lease_frees_the_job_at_once_and_writes_no_more(stores: Stores) -> None:
    lease = await leased(stores)
    await stores.jobs.release(lease)
    with pytest.raises(LeaseLostError):
        await stores.jobs.set_status(lease, JobStatus.RUNNING)
    assert await stores.jobs.acquire("two", 30) is not None


async def test_all_leases_of_an_orchestrator_that_has_ended_are_freed_and_no_others(stores: Stores) -> None:
    for name in ("first", "second", "third", "fourth"):
        await stores.jobs.create(a_job(name))
    dead = [await stores.jobs.acquire("dead", 60, name) for name in ("first", "second")]
    assert await stores.jobs.acquire("living", 60, "third") is not None
    assert await stores.jobs.acquire("late", 1, "fourth") is not None
    stores.clock.advance(2)
    assert await stores.jobs.holders() == {"dead", "living"}

    assert await stores.jobs.release_all("dead") == 2

    assert await stores.jobs.holders() == {"living"}
    again = await stores.jobs.acquire("living", 60, "first")
    assert again is not None
    assert dead[0] is not None
    with pytest.raises(LeaseLostError):
        await stores.jobs.set_status(dead[0], JobStatus.RUNNING)
    assert await stores.jobs.release_all("dead") == 0


async def test_a_stale_release_leaves_the_new_holder_alone(stores: Stores) -> None:
    lease = await leased(stores)
    other = await taken_over(stores, lease)
    await stores.jobs.release(lease)
    assert (await stores.jobs.renew(other, 30)).token == other.token


async def test_a_final_or_paused_job_is_not_leased_unasked(stores: Stores) -> None:
    await stores.jobs.create(a_job("job-1"))
    await stores.jobs.create(a_job("job-2"))
    await stores.jobs.request("local", "job-1", "cancel")
    await stores.jobs.request("local", "job-2", "pause")
    assert await stores.jobs.acquire("one", 30) is None
    assert await stores.jobs.acquire("one", 30, "job-1") is None


async def test_a_stale_token_writes_nothing(stores: Stores) -> None:
    lease = await leased(stores)
    await taken_over(stores, lease)
    before = await stores.jobs.get("local", "job-1"), await stores.events.read("job-1")
    record = StepRecord(
        step=a_step(),
        experiences=(an_experience(),),
        best_candidate_id="cand-x",
        events=(NewEvent(kind=EventKind.STEP_FINISHED, data={}),),
    )
    with pytest.raises(LeaseLostError):
        await stores.jobs.record_step(lease, record)
    with pytest.raises(LeaseLostError):
        await stores.jobs.set_status(lease, JobStatus.SOLVED)
    with pytest.raises(LeaseLostError):
        await stores.jobs.renew(lease, 30)
    assert (await stores.jobs.get("local", "job-1"), await stores.events.read("job-1")) == before
    assert await stores.jobs.steps("local", "job-1") == ()
    with pytest.raises(NotFoundError):
        await stores.memory.get("local", "exp-1")


async def test_a_step_is_written_with_everything_it_produced(stores: Stores) -> None:
    lease = await leased(stores)
    record = StepRecord(
        step=a_full_step(),
        experiences=(an_experience("exp-new"),),
        best_candidate_id="cand-best",
        events=(NewEvent(kind=EventKind.STEP_FINISHED, data={"step": 0, "reward": 1.0}),),
        uses=(ExperienceUse(experience_id="exp-a", similarity=0.5),),
    )
    assert await stores.jobs.record_step(lease, record) is True
    job = await stores.jobs.get("local", "job-1")
    assert (job.steps_done, job.best_candidate_id) == (1, "cand-best")
    assert await stores.jobs.steps("local", "job-1") == (a_full_step(),)
    assert (await stores.memory.get("local", "exp-new")).id == "exp-new"
    assert [event.kind for event in await stores.events.read("job-1")] == [
        EventKind.JOB_STATUS,
        EventKind.STEP_FINISHED,
    ]


async def test_a_step_recorded_twice_is_there_once(stores: Stores) -> None:
    lease = await leased(stores)
    finished = NewEvent(kind=EventKind.STEP_FINISHED, data={"step": 0})
    record = StepRecord(step=a_step(), experiences=(an_experience(),), events=(finished,))
    assert await stores.jobs.record_step(lease, record) is True
    assert await stores.jobs.record_step(lease, record) is False
    assert len(await stores.jobs.steps("local", "job-1")) == 1
    assert (await stores.jobs.get("local", "job-1")).steps_done == 1
    assert [event.seq for event in await stores.events.read("job-1")] == [1, 2]


async def test_calls_without_an_answer_are_kept_until_their_step_is_recorded(stores: Stores) -> None:
    lease = await leased(stores)
    lost, other = (replace(call, reply="", error="broke off") for call in a_full_step().calls)
    await stores.jobs.keep_call(lease, 1, lost)
    await stores.jobs.keep_call(lease, 1, other)
    await stores.jobs.record_step(lease, StepRecord(step=a_step(index=0)))
    assert await stores.jobs.kept_calls("local", "job-1") == {1: (lost, other)}
    assert len(await stores.jobs.steps("local", "job-1")) == 1, "they make no step"
    assert [len(step.calls) for step in await stores.jobs.step_digests("local", "job-1")] == [0]

    answered = a_full_step(index=1).calls[1]
    await stores.jobs.record_step(lease, StepRecord(step=replace(a_full_step(index=1), calls=(lost, answered))))
    assert await stores.jobs.kept_calls("local", "job-1") == {}
    assert (await stores.jobs.steps("local", "job-1"))[1].calls == (lost, answered), "the step says what counts"
    await stores.jobs.keep_call(lease, 1, other)
    assert (await stores.jobs.steps("local", "job-1"))[1].calls == (lost, answered), "it is written already"


async def test_calls_without_an_answer_are_written_by_the_holder_of_the_lease_only(stores: Stores) -> None:
    lease = await leased(stores)
    await taken_over(stores, lease)
    with pytest.raises(LeaseLostError):
        await stores.jobs.keep_call(lease, 0, a_full_step().calls[0])
    assert await stores.jobs.kept_calls("local", "job-1") == {}
    with pytest.raises(NotFoundError):
        await stores.jobs.kept_calls("theirs", "job-1")


async def test_a_step_without_a_new_best_keeps_the_old_one(stores: Stores) -> None:
    lease = await leased(stores)
    await stores.jobs.record_step(lease, StepRecord(step=a_step(index=0), best_candidate_id="cand-best"))
    await stores.jobs.record_step(lease, StepRecord(step=a_step(index=1)))
    assert (await stores.jobs.get("local", "job-1")).best_candidate_id == "cand-best"


async def test_a_job_moves_through_its_statuses_with_events_and_times(stores: Stores) -> None:
    lease = await leased(stores)
    stores.clock.advance(5)
    await stores.jobs.set_status(lease, JobStatus.VALIDATING)
    stores.clock.advance(5)
    running = await stores.jobs.set_status(lease, JobStatus.RUNNING, analysis=an_analysis())
    assert running.analysis == an_analysis()
    stores.clock.advance(5)
    job = await stores.jobs.set_status(lease, JobStatus.UNSOLVED, message="no template")
    assert job == await stores.jobs.get("local", "job-1")
    assert (job.started_at, job.finished_at) == (MOMENT + timedelta(seconds=5), MOMENT + timedelta(seconds=15))
    assert job.message == "no template"
    assert job.analysis == an_analysis()
    log = await stores.events.read("job-1")
    statuses = [event.data["status"] for event in log if event.kind is EventKind.JOB_STATUS]
    assert statuses == ["queued", "validating", "running", "unsolved"]
    assert log[-1].kind is EventKind.JOB_FINISHED
    assert log[-1].data == {
        "status": "unsolved",
        "message": "no template",
        "best_candidate_id": None,
        "speedup": None,
        "gain": None,
        "rounds": 0,
    }


async def test_a_queued_job_is_cancelled_at_once_and_its_log_ends(stores: Stores) -> None:
    await stores.jobs.create(a_job())
    job = await stores.jobs.request("local", "job-1", "cancel")
    assert (job.status, job.finished_at) == (JobStatus.CANCELLED, MOMENT)
    kinds = [event.kind async for event in stores.events.follow("job-1")]
    assert kinds == [EventKind.JOB_STATUS, EventKind.JOB_STATUS, EventKind.JOB_FINISHED]


async def test_cancelling_twice_changes_nothing_more(stores: Stores) -> None:
    await stores.jobs.create(a_job())
    first = await stores.jobs.request("local", "job-1", "cancel")
    assert await stores.jobs.request("local", "job-1", "cancel") == first
    assert len(await stores.events.read("job-1")) == 3


async def test_a_running_job_is_only_flagged(stores: Stores) -> None:
    lease = await leased(stores)
    await stores.jobs.set_status(lease, JobStatus.RUNNING)
    job = await stores.jobs.request("local", "job-1", "pause")
    assert (job.status, job.pause_requested) == (JobStatus.RUNNING, True)
    job = await stores.jobs.request("local", "job-1", "resume")
    assert (job.status, job.pause_requested) == (JobStatus.RUNNING, False)
    job = await stores.jobs.request("local", "job-1", "cancel")
    assert (job.status, job.cancel_requested) == (JobStatus.RUNNING, True)


async def test_a_paused_job_waits_until_it_is_resumed(stores: Stores) -> None:
    lease = await leased(stores)
    await stores.jobs.request("local", "job-1", "pause")
    await stores.jobs.set_status(lease, JobStatus.PAUSED)
    await stores.jobs.release(lease)
    assert await stores.jobs.acquire("two", 30) is None
    job = await stores.jobs.request("local", "job-1", "resume")
    assert (job.status, job.pause_requested) == (JobStatus.QUEUED, False)
    assert await stores.jobs.acquire("two", 30) is not None


@pytest.mark.parametrize("action", ["cancel", "pause", "resume"])
async def test_a_finished_job_takes_no_more_requests(stores: Stores, action: str) -> None:
    lease = await leased(stores)
    await stores.jobs.set_status(lease, JobStatus.SOLVED)
    with pytest.raises(ConflictError):
        await stores.jobs.request("local", "job-1", action)


async def test_an_unknown_action_says_which_there_are(stores: Stores) -> None:
    await stores.jobs.create(a_job())
    with pytest.raises(ConfigurationError, match="cancel"):
        await stores.jobs.request("local", "job-1", "explode")


async def test_a_hundred_jobs_record_steps_at_once(stores: Stores) -> None:
    async def one(number: int) -> Job:
        lease = await leased(stores, f"job-{number}", f"owner-{number}")
        for index in range(3):
            step = a_step(f"job-{number}", index)
            record = StepRecord(
                step=step, experiences=(an_experience(f"exp-{number}-{index}", text=f"{number} {index}"),)
            )
            assert await stores.jobs.record_step(lease, record)
        return await stores.jobs.get("local", f"job-{number}")

    jobs = await asyncio.gather(*(one(number) for number in range(100)))
    assert [job.steps_done for job in jobs] == [3] * 100
    found = await stores.memory.search("local", "anything", limit=1000)
    assert len(found) == 300


async def test_the_holder_of_a_job_is_known_while_its_lease_is_in_force(stores: Stores) -> None:
    lease = await leased(stores)
    assert await stores.jobs.holder("job-1") == lease
    renewed = await stores.jobs.renew(lease, 60)
    assert await stores.jobs.holder("job-1") == renewed
    stores.clock.advance(61)
    assert await stores.jobs.holder("job-1") is None
    other = await stores.jobs.acquire("two", 30, "job-1")
    assert other is not None
    assert await stores.jobs.holder("job-1") == other
    await stores.jobs.release(other)
    assert await stores.jobs.holder("job-1") is None
    assert await stores.jobs.holder("job-none") is None


async def test_a_failed_job_is_queued_again_with_another_model_and_more_rounds(stores: Stores) -> None:
    await stores.jobs.create(a_job())
    lease = await stores.jobs.acquire("one", 60)
    assert lease is not None
    await stores.jobs.set_status(lease, JobStatus.RUNNING)
    with pytest.raises(ConflictError, match="pause it first"):
        await stores.jobs.reopen("local", "job-1", model="other", rounds=12)
    await stores.jobs.set_status(lease, JobStatus.FAILED, message="the key is wrong")
    await stores.jobs.release(lease)
    job = await stores.jobs.reopen("local", "job-1", model="other", rounds=12)
    assert (job.status, job.message, job.spec.model, job.spec.budget.rounds) == (JobStatus.QUEUED, None, "other", 12)
    assert job.spec.problem == a_job().spec.problem
    assert await stores.jobs.acquire("two", 60) is not None
    assert job.finished_at is None


async def test_followers_read_past_the_end_of_a_job_that_went_on(stores: Stores) -> None:
    await stores.jobs.create(a_job())
    for message in ("first", "second"):
        lease = await stores.jobs.acquire("one", 60)
        assert lease is not None
        await stores.jobs.set_status(lease, JobStatus.FAILED, message=message)
        await stores.jobs.release(lease)
        if message == "first":
            await stores.jobs.reopen("local", "job-1", model="other", rounds=1)
    ends = [
        event.data["message"] async for event in stores.events.follow("job-1") if event.kind.value == "job.finished"
    ]
    assert ends == ["first", "second"]


async def test_another_team_cannot_reopen_a_job(stores: Stores) -> None:
    await stores.jobs.create(a_job())
    with pytest.raises(NotFoundError):
        await stores.jobs.reopen("rivals", "job-1", model="other", rounds=1)


async def test_children_are_listed_oldest_first_and_only_to_their_team(stores: Stores) -> None:
    await stores.jobs.create(a_job("parent"))
    await stores.jobs.create(a_job("stranger"))
    for name in ("child-b", "child-a"):
        stores.clock.advance(1)
        await stores.jobs.create(replace(a_job(name), parent_id="parent", created_at=stores.clock.now()))
    found = await stores.jobs.children("local", "parent")
    assert [(job.id, job.parent_id) for job in found] == [("child-b", "parent"), ("child-a", "parent")]
    assert await stores.jobs.children("local", "child-a") == ()
    with pytest.raises(NotFoundError):
        await stores.jobs.children("other", "parent")


async def test_a_job_that_waits_for_a_kernel_goes_on_when_it_is_handed_in(stores: Stores) -> None:
    job = a_job("parent")
    spec = replace(job.spec, tags=("evaluate-only",))
    await stores.jobs.create(replace(job, spec=spec, status=JobStatus.PAUSED, pause_requested=True))
    assert await stores.jobs.acquire("one", 30) is None
    handed = await stores.jobs.hand_in("local", "parent", "class ModelNew: pass\n", ("linear", "matmul"))
    assert (handed.status, handed.pause_requested) == (JobStatus.QUEUED, False)
    stored = await stores.jobs.get("local", "parent")
    assert stored.spec.seed_candidate == "class ModelNew: pass\n"
    assert stored.spec.problem == replace(spec.problem, allow_library=("linear", "matmul"))
    lease = await stores.jobs.acquire("one", 30)
    assert lease is not None
    assert lease.job_id == "parent"
    with pytest.raises(ConflictError, match="waits for no kernel"):
        await stores.jobs.hand_in("local", "parent", "another", ())


async def test_a_job_that_waits_for_nothing_takes_no_kernel(stores: Stores) -> None:
    await stores.jobs.create(a_job("job-1"))
    with pytest.raises(ConflictError, match="waits for no kernel"):
        await stores.jobs.hand_in("local", "job-1", "class ModelNew: pass\n", ())


async def test_leases_are_renewed_together_but_for_those_that_are_lost(stores: Stores) -> None:
    leases = []
    for number in range(3):
        await stores.jobs.create(a_job(f"job-{number}"))
        lease = await stores.jobs.acquire("one", 10, f"job-{number}")
        assert lease is not None
        leases.append(lease)
    stores.clock.advance(11)
    assert await stores.jobs.acquire("two", 10, "job-1") is not None
    renewed = await stores.jobs.renew_all(leases, 10)
    assert sorted(lease.job_id for lease in renewed) == ["job-0", "job-2"]
    assert all(lease.expires_at == stores.clock.now() + timedelta(seconds=10) for lease in renewed)
    assert await stores.jobs.holder("job-0") == next(lease for lease in renewed if lease.job_id == "job-0")
    assert await stores.jobs.renew_all([], 10) == ()
