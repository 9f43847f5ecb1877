"""Memories carried from team to team, kept small and measured, over the real stores."""

from __future__ import annotations

import io
import itertools
import json
from dataclasses import replace
from typing import Any

import pytest

from services.adapters.embeddings.hashing import HashingEmbedder
from services.domain.evaluations import Verdict
from services.domain.experiences import ExperienceFilter, ExperienceKind
from services.domain.referees import CURRENT
from services.team_memory.seeds import seed_experiences
from services.team_memory.service import ExperienceService, ImportRefusedError, VectorSpace
from storage.database import Database
from storage.jobs.store import SqlJobStore
from storage.memory.records import SqlMemoryRecords
from storage.memory.store import SqlMemory
from tests.contracts.test_memory import query
from tests.contracts.value_writer import SHARED, a_record, opened_job, some_records
from tests.doubles import FrozenClock, an_experience


class MemoryStores:
    def __init__(self, database: Database) -> None:
        embedder = HashingEmbedder()
        self.clock = FrozenClock()
        self.jobs = SqlJobStore(database, self.clock)
        self.memory = SqlMemory(database, embedder)
        self.records = SqlMemoryRecords(database, self.memory, embedder.name, self.clock)
        space = VectorSpace(name=embedder.name, dimensions=embedder.dimensions)
        self.service = ExperienceService(self.memory, self.records, space, self.clock)

    async def learn(self, team_id: str = "local", *, steps: int = 20) -> None:
        await self.memory.remember([an_experience(name, text=f"advice {name}") for name in SHARED])
        lease = await opened_job(self.jobs, "job-1", team_id)
        for record in some_records("job-1", steps, 3):
            await self.jobs.record_step(lease, record)
        await self.memory.search(team_id, "advice")  # everything has its vector now

    async def exported(self, team_id: str = "local") -> bytes:
        return b"".join(await self.service.export(team_id))

    async def count(self, team_id: str) -> int:
        return len((await self.service.page(team_id, ExperienceFilter(), limit=200)).items)


@pytest.fixture
def stores(database: Database) -> MemoryStores:
    return MemoryStores(database)


async def test_another_team_starts_from_the_values_that_were_learned(stores: MemoryStores) -> None:
    await stores.learn()
    content = await stores.exported()
    new = await stores.service.import_("theirs", io.BytesIO(content), "eve")
    assert new == await stores.count("local") == await stores.count("theirs")
    page = await stores.service.page("theirs", ExperienceFilter(), limit=200)
    mine = {item.experience.text: item.worth for item in (await stores.service.page("local", ExperienceFilter())).items}
    assert any(worth for worth in mine.values())
    for item in page.items:
        learned = {worth.stage: worth.value for worth in mine[item.experience.text]}
        assert {worth.stage: worth.value for worth in item.worth} == pytest.approx(learned)
    assert [action.action for action in await stores.service.audit("theirs")] == ["import"]


async def test_importing_again_changes_nothing(stores: MemoryStores) -> None:
    await stores.learn()
    content = await stores.exported()
    await stores.service.import_("theirs", io.BytesIO(content), "eve")
    log = await stores.records.log("theirs")
    assert await stores.service.import_("theirs", io.BytesIO(content), "eve") == 0
    assert await stores.service.import_("local", io.BytesIO(content), "eve") == 0
    assert await stores.records.log("theirs") == log


async def test_what_an_older_referee_accepted_stays_here_and_is_counted(stores: MemoryStores) -> None:
    old = replace(an_experience("exp-old", text="an old win"), verdict=Verdict.ACCEPTED, referee=CURRENT - 1)
    await stores.memory.remember([old, an_experience("exp-note", text="a note")])
    header, *lines = map(json.loads, (await stores.exported()).splitlines())
    assert header["left_out"] == 1
    assert [line["experience"]["id"] for line in lines] == ["exp-note"]


async def test_an_import_that_is_proven_again_renews_what_was_imported_before(stores: MemoryStores) -> None:
    known = replace(an_experience("exp-win", text="a win"), verdict=Verdict.ACCEPTED, referee=CURRENT)
    await stores.memory.remember([known])
    header, line = (await stores.exported()).splitlines()
    older = json.loads(line)
    older["experience"]["referee"] = CURRENT - 1
    await stores.service.import_("theirs", io.BytesIO(header + b"\n" + json.dumps(older).encode()), "eve")
    assert await stores.memory.search("theirs", "a win") == ()
    older["experience"]["referee"] = CURRENT + 90
    assert await stores.service.import_("theirs", io.BytesIO(header + b"\n" + json.dumps(older).encode()), "eve") == 0
    (found,) = await stores.memory.search("theirs", "a win")
    assert found.experience.referee == CURRENT


def broken(document: dict[str, Any], path: str, value: Any) -> bytes:
    *outer, last = path.split(".")
    at = document
    for name in outer:
        at = at[name]
    at[last] = value
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda line: b"\xff\xfe", "not UTF-8"),
        (lambda line: b"{not json", "not JSON"),
        (lambda line: line[:-1] + b" " * (1 << 20) + b"}", "longer than"),
        (lambda line: broken(json.loads(line), "vector", [0.5, 0.5]), "dimensions"),
        (lambda line: broken(json.loads(line), "values", [{"stage": "draft", "value": 0.99, "visits": 1}]), "forged"),
        (lambda line: broken(json.loads(line), "values", [{"stage": "draft", "value": 7.0, "visits": 1}]), "value 7"),
        (lambda line: broken(json.loads(line), "experience.team_id", "other"), "belongs to team"),
        (lambda line: broken(json.loads(line), "experience.id", "exp-theirs"), "another team's"),
    ],
    ids=["utf8", "json", "oversized", "dimensions", "forged", "out-of-range", "team", "foreign-id"],
)
async def test_a_bad_line_is_named_and_nothing_is_imported(stores: MemoryStores, change: Any, reason: str) -> None:
    await stores.learn(steps=4)
    await stores.memory.remember([an_experience("exp-theirs", team_id="someone")])
    lines = (await stores.exported()).splitlines()
    lines[3] = change(lines[3])
    with pytest.raises(ImportRefusedError, match=reason) as refused:
        await stores.service.import_("theirs", io.BytesIO(b"\n".join(lines)), "eve")
    assert [refusal.line for refusal in refused.value.refusals] == [4]
    assert await stores.count("theirs") == 0
    assert await stores.records.log("theirs") == ()
    assert await stores.service.audit("theirs") == ()


async def test_an_empty_file_is_refused(stores: MemoryStores) -> None:
    with pytest.raises(ImportRefusedError, match="empty"):
        await stores.service.import_("theirs", io.BytesIO(b""), "eve")


async def test_an_experience_is_shown_with_its_history_and_where_it_was_used(stores: MemoryStores) -> None:
    await stores.learn()
    used = [record for record in some_records("job-1", 20, 3) if SHARED[0] in record.step.experiences_used]
    card = await stores.service.show("local", SHARED[0])
    assert {use.step for use in card.uses} == {record.step.index for record in used}
    assert card.worth
    for worth in card.worth:
        overall = [change for change in card.history if change.scope.family == "*" and change.stage is worth.stage]
        for earlier, later in itertools.pairwise(overall):
            assert later.before == earlier.after
            assert later.seq > earlier.seq
        assert overall[-1].after == pytest.approx(worth.value)
    assert not card.retracted


async def test_pages_hold_every_experience_once(stores: MemoryStores) -> None:
    await stores.memory.remember([an_experience(f"exp-{n}", text=f"advice {n}") for n in range(7)])
    seen: list[str] = []
    cursor = None
    while True:
        page = await stores.service.page("local", ExperienceFilter(), limit=3, cursor=cursor)
        seen += [item.experience.id for item in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert sorted(seen) == [f"exp-{n}" for n in range(7)]
    only = await stores.service.page("local", ExperienceFilter(kind=ExperienceKind.TRACE))
    assert only.items == ()


async def test_a_memory_above_its_cap_forgets_what_was_never_useful(stores: MemoryStores) -> None:
    await stores.learn()
    idle = [replace(an_experience(f"exp-idle-{n}", text=f"idle {n}"), kind=ExperienceKind.SUCCESS) for n in range(5)]
    await stores.memory.remember(idle)
    before = (await stores.service.page("local", ExperienceFilter(), limit=200)).items
    assert (await stores.service.tidy("local", len(before) - 3, "ada")).forgotten == 3
    left = {item.experience.id for item in (await stores.service.page("local", ExperienceFilter(), limit=200)).items}
    gone = [item for item in before if item.experience.id not in left]
    assert [item.worth for item in gone] == [()] * 3, "what was never rewarded goes first"
    assert set(SHARED) <= left, "seed knowledge is never forgotten"
    recalled = await stores.memory.recall(query("idle", family="pointwise", limit=30))
    assert {item.experience.id for item in recalled} <= left
    assert (await stores.service.tidy("local", len(before) - 3, "ada")).forgotten == 0


async def test_the_effect_counts_held_out_steps_apart_and_leaves_submitted_kernels_out(
    stores: MemoryStores,
) -> None:
    for number in range(6):
        lease = await opened_job(stores.jobs, f"job-{number}")
        submitted = a_record(f"job-{number}", 0, verdict=Verdict.REJECTED)
        assert submitted.lesson is not None
        submitted = replace(submitted, lesson=replace(submitted.lesson, searched=False))
        await stores.jobs.record_step(lease, submitted)
        await stores.jobs.record_step(lease, a_record(f"job-{number}", 1, verdict=Verdict.REJECTED, holdout=True))
        await stores.jobs.record_step(lease, a_record(f"job-{number}", 2))
    effect = await stores.service.effect("local")
    assert (effect.steps_with, effect.steps_without) == (6, 6)
    assert (effect.success_with.estimate, effect.success_without.estimate) == (1.0, 0.0)
    assert effect.success_difference.low is not None
    assert effect.success_difference.low > 0


async def test_seeds_are_there_once_and_each_backend_gets_its_own_sheet(stores: MemoryStores) -> None:
    seeds = seed_experiences("local")
    assert await stores.records.seed(seeds) == len(seeds)
    assert await stores.records.seed(seeds) == 0
    assert {seed.backend for seed in seeds if seed.kind is ExperienceKind.API_TEMPLATE} == {"cpp", "triton", "cuda"}
    for backend in ("cpp", "triton", "cuda"):
        wanted = replace(query("a softmax over rows, memory bound", family="softmax"), backend=backend)
        recalled = [item.experience for item in await stores.memory.recall(wanted)]
        sheets = [item for item in recalled if item.kind is ExperienceKind.API_TEMPLATE]
        assert [sheet.backend for sheet in sheets] == [backend]
        assert any(item.family == "softmax" for item in recalled)
    assert {seed.id for seed in seeds}.isdisjoint(seed.id for seed in seed_experiences("theirs"))
