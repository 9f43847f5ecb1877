"""The graph of an experience's provenance, over the doubles."""

from __future__ import annotations

from dataclasses import replace

import pytest

from services.domain.candidates import candidate_id
from services.domain.errors import NotFoundError
from services.domain.experiences import EdgeKind, ExperienceKind, NodeKind, Provenance, experience_id
from services.team_memory.provenance import EARLIER, LATER, USES, trace_provenance
from tests.contracts.value_writer import a_record
from tests.doubles import (
    FrozenClock,
    InMemoryDatabase,
    InMemoryJobStore,
    InMemoryMemory,
    InMemoryMemoryRecords,
    a_job,
    an_experience,
)


class Lab:
    def __init__(self) -> None:
        self.clock = FrozenClock()
        self.database = InMemoryDatabase(clock=self.clock)
        self.jobs = InMemoryJobStore(self.database)
        self.memory = InMemoryMemory(self.database)
        self.records = InMemoryMemoryRecords(self.database)

    async def steps(self, job_id: str, *used: tuple[str, ...]) -> None:
        """A job whose every step has some experiences in its context and is accepted."""
        await self.jobs.create(a_job(job_id))
        lease = await self.jobs.acquire("writer", 600, job_id)
        assert lease is not None
        for index, names in enumerate(used):
            await self.jobs.record_step(lease, a_record(job_id, index, used=names))

    async def graph(self, name: str, team_id: str = "local") -> Provenance:
        return await trace_provenance(self.memory, self.records, team_id, name)


@pytest.fixture
def lab() -> Lab:
    return Lab()


def trace(job_id: str, index: int) -> str:
    return experience_id(candidate_id(job_id, index), ExperienceKind.TRACE)


def layers(found: Provenance) -> dict[str, int]:
    return {node.id: node.layer for node in found.nodes}


async def test_an_experience_stands_between_what_it_came_from_and_what_came_of_it(lab: Lab) -> None:
    await lab.memory.remember([an_experience("exp-seed")])
    await lab.steps("job-1", ("exp-seed",), (trace("job-1", 0),))
    found = await lab.graph(trace("job-1", 0))
    first, second = candidate_id("job-1", 0), candidate_id("job-1", 1)
    assert layers(found) == {
        "exp-seed": -2,
        "job-1": -2,
        first: -1,
        trace("job-1", 0): 0,
        second: 1,
        trace("job-1", 1): 2,
    }
    assert {(edge.source, edge.target, edge.kind) for edge in found.edges} == {
        ("exp-seed", first, EdgeKind.USED),
        ("job-1", first, EdgeKind.MADE),
        (first, trace("job-1", 0), EdgeKind.TAUGHT),
        (trace("job-1", 0), second, EdgeKind.USED),
        ("job-1", second, EdgeKind.MADE),
        (second, trace("job-1", 1), EdgeKind.TAUGHT),
    }
    assert found.cut is False


async def test_seed_knowledge_comes_from_nowhere_and_shows_where_it_was_used(lab: Lab) -> None:
    await lab.memory.remember([an_experience("exp-seed")])
    assert [node.id for node in (await lab.graph("exp-seed")).nodes] == ["exp-seed"]
    await lab.steps("job-1", ("exp-seed",))
    assert layers(await lab.graph("exp-seed"))[candidate_id("job-1", 0)] == 1


async def test_a_trace_leads_to_the_kernels_that_started_from_its_own(lab: Lab) -> None:
    await lab.jobs.create(a_job("job-1"))
    lease = await lab.jobs.acquire("writer", 600, "job-1")
    assert lease is not None
    for index, start in enumerate((None, 0, 0, 1)):
        await lab.jobs.record_step(lease, a_record("job-1", index, start=start))
    found = await lab.graph(trace("job-1", 0))
    started = {edge.target for edge in found.edges if edge.kind is EdgeKind.STARTED}
    assert started == {candidate_id("job-1", 1), candidate_id("job-1", 2)}
    assert layers(found)[trace("job-1", 2)] == 2


async def test_it_looks_two_generations_back_and_says_that_there_are_more(lab: Lab) -> None:
    chain = [(), *((trace("job-1", index),) for index in range(4))]
    await lab.steps("job-1", *chain)
    found = await lab.graph(trace("job-1", 3))
    shown = {node.id for node in found.nodes if node.kind is NodeKind.EXPERIENCE}
    assert shown == {trace("job-1", index) for index in (1, 2, 3, 4)}
    assert found.cut is True


async def test_the_graph_is_bounded_whatever_was_used(lab: Lab) -> None:
    many = [f"exp-{number}" for number in range(EARLIER + 9)]
    await lab.memory.remember([an_experience(name, text=name) for name in many])
    await lab.steps("job-1", tuple(many), *[(trace("job-1", 0),)] * (USES + 9))
    found = await lab.graph(trace("job-1", 0))
    kinds = [node.kind for node in found.nodes]
    assert kinds.count(NodeKind.EXPERIENCE) <= 1 + EARLIER + LATER
    assert sum(node.layer < 0 for node in found.nodes if node.kind is NodeKind.EXPERIENCE) == EARLIER
    assert sum(node.layer == 1 for node in found.nodes) == USES
    assert found.cut is True


async def test_retracted_ones_stay_in_sight_and_are_marked(lab: Lab) -> None:
    await lab.memory.remember([an_experience("exp-seed")])
    await lab.steps("job-1", ("exp-seed",), (trace("job-1", 0),))
    await lab.records.retract("local", "exp-seed", "out of date", "ada")
    marked = [node.id for node in (await lab.graph(trace("job-1", 0))).nodes if node.retracted]
    assert marked == ["exp-seed"]


async def test_another_teams_shared_experience_shows_nothing_of_its_jobs(lab: Lab) -> None:
    theirs = replace(
        an_experience("exp-theirs", team_id="theirs"), candidate_id="job-9/0", job_id="job-9", used=("exp-secret",)
    )
    await lab.memory.remember([theirs, an_experience("exp-secret", text="secret", team_id="theirs")])
    with pytest.raises(NotFoundError):
        await lab.graph("exp-theirs")
    await lab.memory.remember([an_experience("exp-mine", text="mine")])
    await lab.records.share("theirs", "local", "eve")
    assert [node.id for node in (await lab.graph("exp-theirs")).nodes] == ["exp-theirs"]
