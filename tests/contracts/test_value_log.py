"""Values equal what their log says, whoever writes it, how often, and whatever is taken back."""

from __future__ import annotations

import asyncio
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import pytest
from sqlalchemy import select

from services.adapters.embeddings.hashing import HashingEmbedder
from services.domain.candidates import candidate_id, evaluation_id
from services.domain.errors import NotFoundError
from services.domain.evaluations import Verdict
from services.domain.experiences import ExperienceKind, experience_id
from services.domain.jobs import Stage
from services.domain.value_log import LogEntry, OutcomeEntry, RetractionEntry
from storage.database import Database
from storage.jobs.store import SqlJobStore
from storage.memory.records import SqlMemoryRecords
from storage.memory.store import SqlMemory
from storage.tables import experiences
from tests.contracts.by_hand import ByHand, outcomes_of, without
from tests.contracts.test_memory import query
from tests.contracts.value_writer import FAMILIES, SHARED, a_record, opened_job, some_records, write
from tests.doubles import FrozenClock, an_experience

PROCESSES, UPDATES = 8, 125
SITE = "cpu/g++ 12.2"


class Books:
    """The stores over one database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.jobs = SqlJobStore(database, FrozenClock())
        self.memory = SqlMemory(database, HashingEmbedder())
        self.records = SqlMemoryRecords(database, self.memory, HashingEmbedder().name, FrozenClock())

    async def seed(self) -> None:
        await self.memory.remember([an_experience(name, text=f"advice {name}") for name in SHARED])

    async def work_through(self, job_id: str, count: int, seed: int) -> None:
        lease = await opened_job(self.jobs, job_id)
        for record in some_records(job_id, count, seed):
            assert await self.jobs.record_step(lease, record)

    async def known(self) -> list[str]:
        return list(await self.database.read(lambda c: c.execute(select(experiences.c.id)).scalars().all()))

    async def largest_difference(self, hand: ByHand, memory: SqlMemory | None = None) -> float:
        """Between the values that are served and those by hand, over every experience, stage, family and scope."""
        names = [name for name in await self.known() if name not in await self.records.retracted("local")]
        learner = await (memory or self.memory).learner("local")
        return max(
            abs(learner.values.value(stage, name, family, site) - hand.value(stage.value, name, family, site))
            for name in names
            for stage in Stage
            for family in FAMILIES
            for site in (SITE, "elsewhere")
        )


@pytest.fixture
def books(database: Database) -> Books:
    return Books(database)


async def test_values_equal_the_log_by_hand_after_concurrent_updates_from_many_processes(
    books: Books, address: str
) -> None:
    await books.seed()
    loop = asyncio.get_running_loop()
    with ProcessPoolExecutor(PROCESSES, mp_context=multiprocessing.get_context("spawn")) as pool:
        writers = [loop.run_in_executor(pool, write, address, number, UPDATES) for number in range(PROCESSES)]
        written = await asyncio.gather(*writers)
    assert written == [UPDATES] * PROCESSES, "every step counted once, however often it was written"

    log = await books.records.log("local")
    assert [entry.seq for entry in log] == list(range(1, PROCESSES * UPDATES + 1))
    assert len({entry.evaluation_id for entry in log if isinstance(entry, OutcomeEntry)}) == PROCESSES * UPDATES
    hand = ByHand(await books.database.read(outcomes_of))
    assert await books.largest_difference(hand) < 1e-9
    assert len(hand.q) > 500, "the comparison is about something"


async def test_a_retraction_leaves_every_value_as_if_the_cheat_had_never_been(books: Books) -> None:
    await books.seed()
    for number in range(3):
        await books.work_through(f"job-{number}", 30, number)
    other = SqlMemory(books.database, HashingEmbedder())
    outcomes = await books.database.read(outcomes_of)
    await books.largest_difference(ByHand(outcomes), other)  # another process knows the values from before
    cheat = next(item for item in outcomes if item["accepted"] and item["job_id"] == "job-1" and item["step"] > 0)
    assert any(cheat["made"][0] in [one["experience_id"] for one in item["context"]] for item in outcomes)
    before = await books.largest_difference(ByHand(without(outcomes, cheat["evaluation_id"])))
    assert before > 1e-3, "the cheat had given credit"

    gone = await books.records.retract("local", candidate_id("job-1", cheat["step"]), "it read the referee", "ada")

    assert set(gone) == set(cheat["made"])
    hand = ByHand(without(outcomes, cheat["evaluation_id"]))
    assert await books.largest_difference(hand) < 1e-9
    assert await books.largest_difference(hand, other) < 1e-9, "other processes follow"
    (action,) = await books.records.audit("local")
    assert (action.action, action.reason, action.actor) == ("retract", "it read the referee", "ada")
    last = (await books.records.log("local"))[-1]
    assert isinstance(last, RetractionEntry)
    assert last.evaluation_id == cheat["evaluation_id"]


async def test_retracting_again_changes_nothing_more(books: Books) -> None:
    lease = await opened_job(books.jobs, "job-1")
    await books.jobs.record_step(lease, a_record("job-1", 0))
    trace = experience_id(candidate_id("job-1", 0), ExperienceKind.TRACE)
    first = await books.records.retract("local", trace, "a cheat", "ada")
    assert await books.records.retract("local", evaluation_id(candidate_id("job-1", 0)), "a cheat", "ada") == first
    assert len(await books.records.audit("local")) == 1
    assert len(await books.records.log("local")) == 2
    with pytest.raises(NotFoundError):
        await books.records.retract("theirs", trace, "not theirs", "eve")


async def test_a_retracted_experience_is_never_recalled_again_nor_relearned(books: Books) -> None:
    lease = await opened_job(books.jobs, "job-1")
    await books.jobs.record_step(lease, a_record("job-1", 0))
    trace = experience_id(candidate_id("job-1", 0), ExperienceKind.TRACE)
    other = SqlMemory(books.database, HashingEmbedder())
    for memory in (books.memory, other):
        assert [item.experience.id for item in await memory.recall(query("job", family="norm"))] == [trace]
    await books.records.retract("local", trace, "a cheat", "ada")
    for memory in (books.memory, other):
        assert await memory.recall(query("job", family="norm")) == ()
    cheat = await books.memory.get("local", trace)
    assert await books.memory.remember([replace(cheat, id="exp-again")]) == 0
    assert await books.records.retracted("local") == (trace,)


@pytest.mark.parametrize("verdict", [Verdict.SUSPICIOUS, Verdict.INFRASTRUCTURE_ERROR])
async def test_doubtful_verdicts_teach_nothing(books: Books, verdict: Verdict) -> None:
    lease = await opened_job(books.jobs, "job-1")
    record = a_record("job-1", 0, verdict=verdict)
    assert await books.jobs.record_step(lease, record)
    assert await books.records.log("local") == ()


async def test_api_sheets_and_held_out_steps_are_not_credited(books: Books) -> None:
    sheet = replace(an_experience("exp-sheet", text="a sheet"), kind=ExperienceKind.API_TEMPLATE)
    await books.memory.remember([sheet, an_experience("exp-1")])
    lease = await opened_job(books.jobs, "job-1")
    await books.jobs.record_step(lease, a_record("job-1", 0, used=("exp-sheet", "exp-1")))
    await books.jobs.record_step(lease, a_record("job-1", 1, holdout=True))
    first, second = await books.records.log("local")
    assert [item.experience_id for item in _outcome(first).context] == ["exp-1"]
    assert (_outcome(second).context, _outcome(second).holdout) == ((), True)


async def test_the_log_of_one_team_is_not_the_others(books: Books) -> None:
    lease = await opened_job(books.jobs, "job-1", "ours")
    await books.jobs.record_step(lease, a_record("job-1", 0, team_id="ours"))
    assert len(await books.records.log("ours")) == 1
    assert await books.records.log("local") == ()


async def test_start_points_are_worth_what_refining_from_them_brought(books: Books) -> None:
    lease = await opened_job(books.jobs, "job-1")
    await books.jobs.record_step(lease, a_record("job-1", 0, median_us=100.0))
    await books.jobs.record_step(lease, a_record("job-1", 1, median_us=50.0, start=0))
    await books.jobs.record_step(lease, a_record("job-1", 2, verdict=Verdict.REJECTED, start=1))
    points = [candidate_id("job-1", index) for index in (0, 1)]
    known = await books.memory.start_values("local", "norm", SITE, points)
    hand = ByHand(await books.database.read(outcomes_of))
    for point in points:
        by_hand = hand.value("refine", experience_id(point, ExperienceKind.TRACE), "norm", SITE)
        assert known.values[point] == pytest.approx(by_hand, abs=1e-9)
    assert len(set(known.values.values())) == 2
    assert known.outcomes == 3


async def test_memory_is_shared_with_another_team_only_while_it_is_granted(books: Books) -> None:
    await books.memory.remember([an_experience("exp-ours", team_id="ours")])
    await opened_job(books.jobs, "job-1", "theirs")
    theirs = query("vectorise", team_id="theirs")
    assert await books.memory.recall(theirs) == ()
    await books.records.share("ours", "theirs", "ada")
    assert [item.experience.id for item in await books.memory.recall(theirs)] == ["exp-ours"]
    assert (await books.memory.get("theirs", "exp-ours")).team_id == "ours"
    await books.records.share("ours", "theirs", "ada", granted=False)
    assert await books.memory.recall(theirs) == ()
    with pytest.raises(NotFoundError):
        await books.memory.get("theirs", "exp-ours")
    assert [action.action for action in await books.records.audit("ours")] == ["unshare", "share"]


async def test_a_changed_embedder_leaves_recall_working_while_it_embeds_anew(books: Books) -> None:
    many = [an_experience(f"exp-{n}", text=f"advice number {n}") for n in range(400)]
    await books.memory.remember(many)
    changed = SqlMemory(books.database, HashingEmbedder(64))
    assert len(await changed.recall(query("advice number 7"))) == 6
    await changed.settled()
    found = await changed.search("local", "advice number 7")
    assert found[0].experience.id == "exp-7"
    assert found[0].similarity > 0.5


def _outcome(entry: LogEntry) -> OutcomeEntry:
    assert isinstance(entry, OutcomeEntry)
    return entry
