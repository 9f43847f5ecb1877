"""A team's memory stays small by itself: near-duplicates become one, and what never helped goes above the cap."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from services.domain.errors import StorageError
from services.domain.evaluations import Verdict
from services.domain.experiences import Experience, ExperienceKind
from services.domain.jobs import Stage
from services.domain.value_log import ContextItem, OutcomeEntry
from services.team_memory.maintenance import MemoryMaintenance, Tidied
from tests.doubles import InMemoryDatabase, InMemoryMemoryRecords, an_experience

ALIKE, OTHER = (1.0, 0.0), (0.0, 1.0)


class Home:
    """A memory with vectors, and who keeps it."""

    def __init__(self, *, cap: int = 1000, every: int = 10) -> None:
        self.database = InMemoryDatabase()
        self.records = InMemoryMemoryRecords(self.database)
        self.maintenance = MemoryMaintenance(self.records, cap=cap, every=every)

    def put(self, count: int, *, vector: tuple[float, ...] | None = None, prefix: str = "exp") -> None:
        items = [success(f"{prefix}-{n}") for n in range(count)]
        self.database.remember(items)
        if vector is not None:
            self.database.vectors.update({item.id: vector for item in items})

    def credit(self, name: str) -> None:
        log = self.database.logs.setdefault("local", [])
        seq = len(log) + 1
        log.append(
            OutcomeEntry(
                seq=seq, evaluation_id=f"eval-{seq}", job_id=f"job-{seq}", step=0, family="pointwise", site="cpu/g++",
                accepted=True, median_us=10.0, context=(ContextItem(experience_id=name, similarity=0.5),),
            )
        )  # fmt: skip

    @property
    def left(self) -> set[str]:
        return {item.id for item in self.database.in_use()}


def success(name: str) -> Experience:
    return replace(an_experience(name, text=f"advice {name}"), kind=ExperienceKind.SUCCESS, verdict=Verdict.ACCEPTED)


async def test_nothing_happens_until_enough_is_new() -> None:
    home = Home(every=10)
    home.put(9, vector=ALIKE)
    assert await home.maintenance.after_job("local") == Tidied()
    home.put(1, prefix="last")
    assert await home.maintenance.after_job("local") == Tidied(merged=8)
    assert await home.maintenance.after_job("local") == Tidied(), "it has seen everything there is"


class SlowRecords(InMemoryMemoryRecords):
    """Lets others run before it answers; counts what it was asked."""

    looks = 0

    async def outline(self, team_id: str) -> tuple[Experience, ...]:
        self.looks += 1
        await asyncio.sleep(0)
        return await super().outline(team_id)


async def test_jobs_that_end_at_the_same_time_tidy_once() -> None:
    home = Home(every=1)
    home.put(10, vector=ALIKE)
    slow = SlowRecords(home.database)
    maintenance = MemoryMaintenance(slow, cap=1000, every=1)
    done = await asyncio.gather(*(maintenance.after_job("local") for _ in range(5)))
    assert sorted(item.merged for item in done) == [0, 0, 0, 0, 9]
    assert slow.looks == 2, "one look to merge, one to forget"
    home.put(2, vector=OTHER, prefix="later")
    assert await maintenance.after_job("local") == Tidied(merged=1)


async def test_of_near_duplicates_the_one_that_was_used_stays_with_the_history_of_all() -> None:
    home = Home(every=1)
    home.put(3, vector=ALIKE)
    home.credit("exp-1")
    home.credit("exp-2")
    home.credit("exp-2")
    assert await home.maintenance.after_job("local") == Tidied(merged=2)
    assert home.left == {"exp-2"}
    assert (await home.records.values("local")).visits(Stage.DRAFT, "exp-2") == 3


async def test_what_is_not_alike_or_a_trace_is_left_alone() -> None:
    home = Home(every=1)
    home.put(1, vector=ALIKE, prefix="near")
    home.put(1, vector=OTHER, prefix="far")
    traces = [replace(success(f"trace-{n}"), kind=ExperienceKind.TRACE, candidate_id=f"cand-{n}") for n in range(2)]
    home.database.remember(traces)
    home.database.vectors.update({item.id: ALIKE for item in traces})
    assert await home.maintenance.after_job("local") == Tidied()
    assert len(home.left) == 4


async def test_the_cap_holds_for_each_backend_and_spares_what_helped() -> None:
    home = Home(cap=5, every=1000)
    home.put(8)
    home.credit("exp-0")
    home.database.remember([replace(success(f"gpu-{n}"), backend="triton") for n in range(5)])
    assert await home.maintenance.after_job("local") == Tidied(forgotten=3)
    assert "exp-0" in home.left
    assert sum(name.startswith("gpu") for name in home.left) == 5
    assert [line.action for line in await home.records.audit("local")] == ["forget"]


async def test_a_database_that_fails_fails_no_job() -> None:
    home = Home(every=1)

    async def broken(team_id: str) -> int:
        raise StorageError("the disk is full")

    home.records.untidied = broken  # type: ignore[method-assign]
    assert await home.maintenance.after_job("local") == Tidied()
