"""What every `MemoryRecords` promises: the stored one on each database, and the double."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from services.domain.candidates import candidate_id
from services.domain.errors import NotFoundError
from services.domain.evaluations import Verdict
from services.domain.experiences import ExperienceFilter, ExperienceKind, ExportedValue, MemoryLine, experience_id
from services.domain.jobs import LOCAL_TEAM, Lease, Stage
from services.domain.value_log import MergeEntry, OutcomeEntry, RetractionEntry
from tests.contracts.conftest import MEMORIES, Stores
from tests.contracts.test_memory import query
from tests.contracts.value_writer import a_record
from tests.doubles import a_job, an_experience

pytestmark = pytest.mark.parametrize("stores", MEMORIES, indirect=True)


async def open_job(stores: Stores, job_id: str = "job-1", team_id: str = LOCAL_TEAM) -> Lease:
    await stores.jobs.create(a_job(job_id, team_id=team_id))
    lease = await stores.jobs.acquire("writer", 600, job_id)
    assert lease is not None
    return lease


async def test_a_step_is_in_the_log_with_what_it_used_and_made(stores: Stores) -> None:
    await stores.memory.remember([an_experience("exp-1")])
    record = a_record("job-1", 0, used=("exp-1",))
    assert record.lesson is not None
    await stores.jobs.record_step(await open_job(stores), replace(record, lesson=replace(record.lesson, backend="cpp")))
    (entry,) = await stores.records.log("local")
    assert isinstance(entry, OutcomeEntry)
    trace = experience_id(candidate_id("job-1", 0), ExperienceKind.TRACE)
    assert ([item.experience_id for item in entry.context], entry.made, entry.backend) == (["exp-1"], (trace,), "cpp")
    values = await stores.records.values("local")
    assert values.value(Stage.DRAFT, "exp-1", "norm") > 0
    (use,) = await stores.records.uses("local", "exp-1")
    assert (use.job_id, use.step, use.similarity, use.verdict) == ("job-1", 0, 0.5, Verdict.ACCEPTED)
    assert use.candidate_id == candidate_id("job-1", 0)


async def test_what_candidates_taught_and_known_experiences_are_outlined_for_their_own_team_only(
    stores: Stores,
) -> None:
    await stores.memory.remember([an_experience("exp-1"), an_experience("exp-2", text="more", team_id="theirs")])
    await stores.jobs.record_step(await open_job(stores), a_record("job-1", 0, used=("exp-1",)))
    maker, trace = candidate_id("job-1", 0), experience_id(candidate_id("job-1", 0), ExperienceKind.TRACE)
    (found,) = await stores.records.taught("local", [maker, "job-1/none"])
    assert (found.id, found.used, found.text, found.code) == (trace, ("exp-1",), "", None)
    assert await stores.records.taught("theirs", [maker]) == ()
    assert await stores.records.taught("local", []) == ()
    assert [one.id for one in await stores.records.outlines("local", [trace, "exp-2", "exp-1"])] == [trace, "exp-1"]
    await stores.records.retract("local", trace, "a cheat", "ada")
    assert [one.id for one in await stores.records.taught("local", [maker])] == [trace]


async def test_steps_that_started_from_a_traces_kernel_are_found(stores: Stores) -> None:
    lease = await open_job(stores)
    for index, start in enumerate((None, 0, 1)):
        await stores.jobs.record_step(lease, a_record("job-1", index, start=start))
    trace = await stores.memory.get("local", experience_id(candidate_id("job-1", 0), ExperienceKind.TRACE))
    (use,) = await stores.records.refined("local", trace)
    assert (use.candidate_id, use.step, use.similarity) == (candidate_id("job-1", 1), 1, None)
    assert await stores.records.refined("theirs", trace) == ()
    assert await stores.records.refined("local", replace(trace, kind=ExperienceKind.SUCCESS)) == ()


async def test_listings_are_paged_newest_first_and_filtered(stores: Stores) -> None:
    await stores.memory.remember([an_experience(f"exp-{n}", text=f"advice {n}") for n in range(5)])
    seen, cursor = [], None
    while True:
        page = await stores.records.page("local", ExperienceFilter(), limit=2, cursor=cursor)
        seen += [item.id for item in page.experiences]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert sorted(seen) == [f"exp-{n}" for n in range(5)]
    none = await stores.records.page("local", ExperienceFilter(family="scan"))
    assert none.experiences == ()


async def test_a_retraction_takes_experiences_out_and_is_logged_and_audited_once(stores: Stores) -> None:
    await stores.jobs.record_step(await open_job(stores), a_record("job-1", 0))
    trace = experience_id(candidate_id("job-1", 0), ExperienceKind.TRACE)
    assert await stores.records.retract("local", candidate_id("job-1", 0), "a cheat", "ada") == (trace,)
    assert await stores.records.retract("local", trace, "again", "ada") == (trace,)
    assert await stores.records.retracted("local") == (trace,)
    assert [type(entry) for entry in await stores.records.log("local")] == [OutcomeEntry, RetractionEntry]
    assert [(line.action, line.reason) for line in await stores.records.audit("local")] == [("retract", "a cheat")]
    assert await stores.memory.recall(query("job", family="norm")) == ()
    with pytest.raises(NotFoundError):
        await stores.records.retract("local", "exp-nowhere", "none", "ada")


async def test_merged_experiences_are_one_with_the_history_of_both(stores: Stores) -> None:
    await stores.memory.remember([an_experience("exp-1"), an_experience("exp-2", text="vectorise the inner loop!")])
    lease = await open_job(stores)
    await stores.jobs.record_step(lease, a_record("job-1", 0, used=("exp-1",), verdict=Verdict.REJECTED))
    await stores.jobs.record_step(lease, a_record("job-1", 1, used=("exp-2",), verdict=Verdict.REJECTED))
    assert await stores.records.merge("local", [("exp-1", "exp-2")], "ada") == 1
    assert await stores.records.merge("local", [("exp-1", "exp-2")], "ada") == 0
    values = await stores.records.values("local")
    assert (values.visits(Stage.DRAFT, "exp-1"), values.visits(Stage.DRAFT, "exp-2")) == (2, 0)
    assert values.value(Stage.DRAFT, "exp-1", "*") == pytest.approx(-(1 - 0.85**2))
    assert isinstance((await stores.records.log("local"))[-1], MergeEntry)
    assert [item.experience.id for item in await stores.memory.search("local", "vectorise")] == ["exp-1"]
    assert [line.action for line in await stores.records.audit("local")] == ["merge"]


async def test_forgotten_experiences_leave_recall_and_the_outline(stores: Stores) -> None:
    await stores.memory.remember([an_experience(f"exp-{n}", text=f"advice {n}") for n in range(3)])
    assert await stores.records.forget("local", ["exp-1", "exp-nowhere"], "too many", "ada") == 1
    assert [item.id for item in await stores.records.outline("local")] == ["exp-0", "exp-2"]
    assert {item.text for item in await stores.records.outline("local")} == {""}
    assert {item.experience.id for item in await stores.memory.search("local", "advice")} == {"exp-0", "exp-2"}


async def test_housekeeping_knows_how_much_is_new(stores: Stores) -> None:
    assert await stores.records.untidied("local") == 0
    await stores.memory.remember([an_experience(f"exp-{n}", text=f"advice {n}") for n in range(3)])
    assert await stores.records.untidied("local") == 3
    await stores.records.tidied("local")
    await stores.memory.remember([an_experience("exp-9", text="more")])
    assert await stores.records.untidied("local") == 1


async def test_an_import_brings_values_as_where_learning_starts(stores: Stores) -> None:
    value = ExportedValue(stage=Stage.DRAFT, value=0.4, visits=9.0)
    line = MemoryLine(experience=an_experience("exp-new"), vector=None, values=(value,))
    assert await stores.records.adopt("local", [line], "team blue", "ada") == 1
    assert await stores.records.adopt("local", [line], "team blue", "ada") == 0
    values = await stores.records.values("local")
    assert values.value(Stage.DRAFT, "exp-new", "norm") == pytest.approx(0.4)
    assert await stores.records.owners(["exp-new", "exp-old"]) == {"exp-new": "local"}
    assert [line.action for line in await stores.records.audit("local")] == ["import"]


async def test_memory_is_shared_only_while_it_is_granted_and_only_with_teams_that_exist(stores: Stores) -> None:
    await stores.memory.remember([an_experience("exp-ours", team_id="ours")])
    await stores.memory.remember([an_experience("exp-theirs", team_id="theirs", text="something else")])
    with pytest.raises(NotFoundError, match="no team nobody"):
        await stores.records.share("ours", "nobody", "ada")
    theirs = query("vectorise", team_id="theirs")
    await stores.records.share("ours", "theirs", "ada")
    assert {item.experience.id for item in await stores.memory.recall(theirs)} == {"exp-ours", "exp-theirs"}
    assert [(one.team_id, one.reader, one.granted_by) for one in await stores.records.shares("theirs")] == [
        ("ours", "theirs", "ada")
    ]
    ours = await stores.memory.recall(query("vectorise", team_id="ours"))
    assert [item.experience.id for item in ours] == ["exp-ours"], "a share goes one way"
    await stores.records.share("ours", "theirs", "ada", granted=False)
    assert [item.experience.id for item in await stores.memory.recall(theirs)] == ["exp-theirs"]
    assert await stores.records.shares("ours") == ()


async def test_learned_practices_are_listed_in_every_state_with_the_steps_they_are_judged_by(stores: Stores) -> None:
    first = replace(an_experience("exp-1", text="one"), job_id="job-0")
    second = replace(
        an_experience("exp-2", text="two"), job_id="job-0", created_at=first.created_at + timedelta(days=1)
    )
    third = replace(
        an_experience("exp-3", text="three"), job_id="job-0", created_at=first.created_at + timedelta(days=2)
    )
    await stores.memory.remember([second, third, first, an_experience("exp-hand", text="by hand")])
    await stores.memory.remember([replace(first, id="exp-theirs", team_id="theirs")])
    await stores.jobs.record_step(await open_job(stores), a_record("job-1", 0, used=("exp-1", "exp-hand")))

    assert await stores.records.forget("local", ["exp-2"], "refuted", "housekeeping") == 1
    assert await stores.records.merge("local", [("exp-1", "exp-3")], "housekeeping") == 1

    found = await stores.records.learned_practices("local")
    assert [(one.practice.id, one.state) for one in found] == [
        ("exp-1", "active"),
        ("exp-2", "forgotten"),
        ("exp-3", "merged"),
    ]
    assert [one.practice.text for one in found] == ["one", "two", "three"]
    (trial,) = await stores.records.trials("local")
    assert (trial.stage, set(trial.items), trial.reward) == (Stage.DRAFT, {"exp-1", "exp-hand"}, 1.0)
    assert await stores.records.trials("theirs") == ()
