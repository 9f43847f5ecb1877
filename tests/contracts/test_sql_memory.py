"""What the stored memory does beyond the port's promise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from sqlalchemy import Connection, select, update

from benchmarks.selection_rules import BySimilarity
from services.adapters.embeddings.hashing import HashingEmbedder
from services.domain.experiences import Embedded, Experience, ExperienceKind
from services.domain.jobs import Stage
from services.domain.referees import CURRENT
from services.domain.steps import StepRecord
from services.domain.value_log import ContextItem, OutcomeEntry
from services.memory.learner import Learner
from services.memory.values import read
from storage.contents.blobs import ensure_team
from storage.database import Database
from storage.jobs.store import SqlJobStore
from storage.memory import numpy_index, snapshots
from storage.memory.numpy_index import NumpyVectorIndex
from storage.memory.records import SqlMemoryRecords
from storage.memory.retraction import renew_proof
from storage.memory.store import SqlMemory
from storage.memory.value_log import append_entry, read_log
from storage.tables import experiences, memory_snapshots
from tests.contracts.test_memory import query
from tests.doubles import FrozenClock, a_job, a_step, an_experience
from tests.doubles.builders import MOMENT

pytestmark = pytest.mark.parametrize("address", ["sqlite", "postgres", "pgvector"], indirect=True)


class CountingEmbedder(HashingEmbedder):
    def __init__(self, dimensions: int = 64) -> None:
        super().__init__(dimensions)
        self.texts: list[str] = []

    async def embed(self, texts: Sequence[str]) -> Embedded:
        self.texts.extend(texts)
        return await super().embed(texts)


async def test_recall_keeps_to_the_backend(database: Database) -> None:
    memory = SqlMemory(database, HashingEmbedder())
    await memory.remember([replace(an_experience("exp-1"), backend="triton"), an_experience("exp-2")])
    assert [item.experience.id for item in await memory.recall(query("vectorise the inner loop"))] == ["exp-2"]


async def test_every_team_has_the_seeds_from_its_first_recall_on_and_keeps_what_it_took_out(database: Database) -> None:
    def seeds(team_id: str) -> tuple[Experience, ...]:
        return (an_experience(f"exp-seed-{team_id}", team_id=team_id, text="what experts know"),)

    memory = SqlMemory(database, HashingEmbedder(), seeds=seeds)
    recalled = await memory.recall(query("vectorise", team_id="made-later"))
    assert [item.experience.id for item in recalled] == ["exp-seed-made-later"]

    records = SqlMemoryRecords(database, memory, HashingEmbedder().name, FrozenClock())
    await records.forget("made-later", ["exp-seed-made-later"], "not for us", "ada")
    again = SqlMemory(database, HashingEmbedder(), seeds=seeds)
    assert await again.recall(query("vectorise", team_id="made-later")) == ()


async def test_expert_practices_are_candidates_however_many_logs_are_nearer(database: Database) -> None:
    memory = SqlMemory(database, HashingEmbedder(), learner=by_similarity)
    practice = replace(an_experience("exp-practice", text="experts say something in other words"), family="any")
    logs = [
        replace(an_experience(f"exp-log-{n}", text=f"vectorise the inner loop {n}"), kind=ExperienceKind.TRACE)
        for n in range(60)
    ]
    await memory.remember([*logs, practice])

    near = await memory.recall(replace(query("vectorise the inner loop"), left_out=tuple(log.id for log in logs)))

    assert [item.experience.id for item in near] == ["exp-practice"]


def by_similarity() -> Learner:
    return Learner(rule=BySimilarity())


async def test_the_family_is_kept_to_while_enough_experiences_fit(database: Database) -> None:
    memory = SqlMemory(database, HashingEmbedder(), learner=by_similarity)
    text = "vectorise the inner loop"
    near = replace(an_experience("exp-near", text=text), family="softmax")
    mine = replace(an_experience("exp-mine", text="something else entirely"), family="norm")
    general = replace(an_experience("exp-any", text="advice for everybody"), family="any")
    await memory.remember([near, mine, general])
    few = await memory.recall(query(text, family="norm", limit=1))
    assert few[0].experience.id in {"exp-mine", "exp-any"}
    many = await memory.recall(query(text, family="norm"))
    assert many[0].experience.id == "exp-near", "three are wanted and two fit: the family is given up"
    assert len(many) == 3


async def test_what_another_process_or_a_step_remembered_is_seen(database: Database) -> None:
    memory, other = SqlMemory(database, HashingEmbedder()), SqlMemory(database, HashingEmbedder())
    assert await memory.recall(query("vectorise")) == ()
    await other.remember([an_experience("exp-other", text="from elsewhere")])
    jobs = SqlJobStore(database, FrozenClock())
    await jobs.create(a_job())
    lease = await jobs.acquire("one", 30)
    assert lease is not None
    await jobs.record_step(lease, StepRecord(step=a_step(), experiences=(an_experience("exp-step"),)))
    assert {item.experience.id for item in await memory.recall(query("vectorise"))} == {"exp-other", "exp-step"}


async def test_an_experience_is_embedded_once_and_for_all(database: Database) -> None:
    first, second = CountingEmbedder(), CountingEmbedder()
    memory = SqlMemory(database, first)
    await memory.remember([an_experience(f"exp-{n}", text=f"advice {n}") for n in range(3)])
    recalled = await memory.recall(query("advice"))
    await memory.recall(query("advice"))
    assert len(first.texts) == 3 + 2
    assert await SqlMemory(database, second).recall(query("advice")) == recalled
    assert second.texts == ["advice"]


async def test_vectors_of_different_embedders_never_meet(database: Database) -> None:
    await SqlMemory(database, HashingEmbedder(64)).remember([an_experience()])
    assert len(await SqlMemory(database, HashingEmbedder(64)).recall(query("vectorise"))) == 1
    assert len(await SqlMemory(database, HashingEmbedder(128)).recall(query("vectorise"))) == 1


async def test_equal_similarities_go_by_age(database: Database) -> None:
    memory = SqlMemory(database, HashingEmbedder(), learner=by_similarity)
    items = [
        replace(an_experience(f"exp-{n}"), moves=(f"move-{n}",), device=f"device-{n}", stage=Stage.REFINE)
        for n in (7, 3, 9, 1, 5, 2, 8)
    ]
    await memory.remember(items)
    recalled = await memory.recall(query("vectorise the inner loop", limit=3))
    assert [item.experience.id for item in recalled] == ["exp-7", "exp-3", "exp-9"]


async def test_a_process_starts_from_the_values_that_another_one_kept(database: Database) -> None:
    await write_outcomes(database, 520)
    first = SqlMemory(database, HashingEmbedder())
    whole = await first.learner("local")
    assert await database.read(lambda c: c.execute(select(memory_snapshots.c.upto)).scalars().all()) == [520]
    await write_outcomes(database, 8, first=520)
    second = SqlMemory(database, HashingEmbedder())
    begun = await second.learner("local")
    assert begun.last_seq == 528
    whole = await first.learner("local")
    names = [f"exp-{n}" for n in range(30)]
    for stage in Stage:
        ours = [begun.values.value(stage, name, family, "cpu/g++") for name in names for family in ("norm", "loss")]
        theirs = [whole.values.value(stage, name, family, "cpu/g++") for name in names for family in ("norm", "loss")]
        assert ours == theirs
    log = await database.read(lambda connection: read_log(connection, "local"))
    assert begun.values.value(Stage.DRAFT, "exp-3", "norm") == read(log).value(Stage.DRAFT, "exp-3", "norm")


async def test_kept_values_that_cannot_be_read_cost_time_and_nothing_else(database: Database) -> None:
    await write_outcomes(database, 520)
    whole = await SqlMemory(database, HashingEmbedder()).learner("local")
    await database.write(lambda c: c.execute(update(memory_snapshots).values(content=b"not a snapshot")))
    begun = await SqlMemory(database, HashingEmbedder()).learner("local")
    assert begun.values.value(Stage.DRAFT, "exp-3", "norm") == whole.values.value(Stage.DRAFT, "exp-3", "norm")


async def test_experiences_are_packed_in_ranges_and_read_from_there(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numpy_index, "RANGE", 20)
    monkeypatch.setattr(snapshots, "RANGE", 20)
    items = [
        replace(an_experience(f"exp-{n:02}", text=f"advice {n}"), family=("norm", "loss")[n % 2]) for n in range(50)
    ]
    sheet = replace(an_experience("exp-sheet", text="a sheet"), kind=ExperienceKind.API_TEMPLATE)
    held = by_numpy(database)
    await held.remember([*items[:10], sheet, *items[10:]])
    await held.search("local", "advice")
    await held.settled()
    await by_numpy(database).search("local", "advice")  # has every vector, and packs
    third = by_numpy(database)
    first = await third.search("local", "advice 7", 60)
    await third.settled()
    kinds = select(memory_snapshots.c.kind, memory_snapshots.c.part).order_by(memory_snapshots.c.part)
    packed = await database.read(lambda c: c.execute(kinds).all())
    assert [tuple(row) for row in packed] == [
        (f"shelf/{HashingEmbedder().name}", 0),
        (f"shelf/{HashingEmbedder().name}", 1),
    ]
    embedder = CountingEmbedder(512)
    later = SqlMemory(database, embedder, index=NumpyVectorIndex)
    assert await later.search("local", "advice 7", 60) == first
    assert len(first) == 51
    assert await later.recall(query("advice 7", family="norm")) == await third.recall(query("advice 7", family="norm"))
    records = SqlMemoryRecords(database, later, HashingEmbedder().name, FrozenClock())
    await records.forget("local", ["exp-05", "exp-45"], "not needed", "ada")
    left = [item.experience.id for item in await by_numpy(database).search("local", "advice 7", 60)]
    assert set(left) == {item.experience.id for item in first} - {"exp-05", "exp-45"}


async def test_what_is_proven_again_is_read_from_ranges_that_were_packed_before(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numpy_index, "RANGE", 20)
    monkeypatch.setattr(snapshots, "RANGE", 20)
    items = [an_experience(f"exp-{n:02}", text=f"advice {n}") for n in range(20)]
    await by_numpy(database).remember(items)
    packing = by_numpy(database)
    for _ in range(2):
        await packing.search("local", "advice")
        await packing.settled()
    old = experiences.c.id == "exp-05"
    await database.write(lambda c: c.execute(update(experiences).where(old).values(verdict="accepted", referee=1)))
    held = by_numpy(database)
    assert len(await held.search("local", "advice", 60)) == 19
    await database.write(lambda connection: renew_proof(connection, "local", old, CURRENT))
    assert len(await held.search("local", "advice", 60)) == 20
    assert len(await by_numpy(database).search("local", "advice", 60)) == 20


def by_numpy(database: Database) -> SqlMemory:
    return SqlMemory(database, HashingEmbedder(), index=NumpyVectorIndex)


async def write_outcomes(database: Database, count: int, first: int = 0) -> None:
    def work(connection: Connection) -> None:
        ensure_team(connection, "local", MOMENT)
        for number in range(first, first + count):
            append_entry(connection, "local", f"eval-{number}", an_outcome(number), MOMENT)

    await database.write(work)


def an_outcome(number: int) -> Callable[[int], OutcomeEntry]:
    context = tuple(ContextItem(experience_id=f"exp-{(number * step) % 30}", similarity=0.5) for step in (1, 7))
    return lambda seq: OutcomeEntry(
        seq=seq,
        evaluation_id=f"eval-{number}",
        job_id=f"job-{number // 10}",
        step=number % 10,
        family=("norm", "loss")[number % 2],
        site="cpu/g++",
        accepted=number % 3 == 0,
        median_us=100.0 - number % 10 if number % 3 == 0 else None,
        context=context,
        made=(f"exp-made-{number}",) if number % 3 == 0 else (),
    )
