"""Jobs that an earlier version began go on within a step of every origin: their states have flags and no origin."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint

from services.domain.candidates import Origin
from services.domain.jobs import EVALUATE_ONLY, Budget, Job
from services.domain.validations import CompilerDraft
from storage.database import Database
from storage.jobs.checkpoints import SqlCheckpointSaver
from tests.doubles import FakeQueue, a_job, a_report
from tests.integration.test_orchestrator_on_sqlite import Place
from tests.unit.orchestrator.world import Fuse, KilledError
from tests.unit.whole_jobs.test_code_travels import proven
from tests.unit.whole_jobs.test_compiler_draft import DRAFT, validated
from tests.unit.whole_jobs.test_fewer_calls import PricedModel, answers

pytestmark = pytest.mark.integration

THREAD: RunnableConfig = {"configurable": {"thread_id": "job-1", "checkpoint_ns": ""}}
SEED = "class ModelNew: pass\n"
WRITTEN = ["planner", "coder", "profiler", "judge"]


@dataclass(frozen=True, kw_only=True)
class Begun:
    """A job that is interrupted within a step, and how the step ends when the job goes on."""

    flags: dict[str, Any]
    """What the state of the earlier version holds in place of the origin."""
    origin: Origin
    roles: list[str]
    """Whom the step asks after the interruption."""
    learned: bool = True
    seed: str | None = None
    tags: tuple[str, ...] = ()
    draft: bool = False
    rounds: int = 2
    step: int = 0

    def job(self) -> Job:
        job = a_job(budget=Budget(rounds=self.rounds))
        spec = replace(job.spec, seed_candidate=self.seed, tags=self.tags, compiler_draft=self.draft)
        return replace(job, spec=spec)


FLAGS = {"seeded": False, "drafted": False, "evaluate_only": False, "adopts": None, "confirms": False}
BEGUN = {
    "written": Begun(flags=FLAGS, origin=Origin.DRAFT, roles=WRITTEN),
    "seed": Begun(flags=FLAGS | {"seeded": True}, origin=Origin.SEED, roles=["profiler", "judge"], seed=SEED),
    "seed, to be judged only": Begun(
        flags=FLAGS | {"seeded": True, "evaluate_only": True},
        origin=Origin.SEED,
        roles=[],
        seed=SEED,
        tags=(EVALUATE_ONLY,),
    ),
    "compiler": Begun(flags=FLAGS | {"drafted": True}, origin=Origin.COMPILER, roles=[], learned=False, draft=True),
    "recalled": Begun(flags=FLAGS | {"adopts": "exp-proven"}, origin=Origin.RECALLED, roles=[]),
    "confirmation": Begun(
        flags=FLAGS | {"confirms": True}, origin=Origin.CONFIRMATION, roles=[], learned=False, rounds=4, step=3
    ),
}


class KillingSaver(SqlCheckpointSaver):
    """Kills the process before one of the nodes of a step."""

    def __init__(self, database: Database, step: int, *nodes: str) -> None:
        super().__init__(database)
        self._step = step
        self._before = {f"branch:to:{node}" for node in nodes}

    async def aput(self, config: RunnableConfig, checkpoint: Checkpoint, *rest: Any) -> RunnableConfig:
        kept = await super().aput(config, checkpoint, *rest)
        values = checkpoint["channel_values"]
        if values.get("step") == self._step and self._before & set(values):
            raise KilledError
        return kept


async def killed(place: Place, step: int, *nodes: str) -> None:
    """Run the job as far as that."""
    place.checkpoints = KillingSaver(place.database, step, *nodes)
    with pytest.raises(KilledError):
        await place.orchestrator("killed", Fuse()).run_job("job-1")
    place.checkpoints = SqlCheckpointSaver(place.database)


async def written_before(place: Place, flags: dict[str, Any]) -> None:
    """Give the checkpoint the form of the earlier version."""
    found = await place.checkpoints.aget_tuple(THREAD)
    assert found is not None
    values, versions = dict(found.checkpoint["channel_values"]), dict(found.checkpoint["channel_versions"])
    del values["origin"]
    version = versions.pop("origin")
    earlier = found.checkpoint | {
        "channel_values": values | flags,
        "channel_versions": versions | dict.fromkeys(flags, version),
    }
    await place.checkpoints.aput(found.config, cast("Checkpoint", earlier), found.metadata, {})


@pytest.mark.parametrize("case", BEGUN)
async def test_a_step_that_an_earlier_version_began_ends_as_it_would_have(tmp_path: Path, case: str) -> None:
    begun, place = BEGUN[case], Place(tmp_path)
    await place.database.upgrade()
    reports = [a_report(median_us=100.0), *[a_report(median_us=150.0)] * 2]
    place.queue = FakeQueue(reports, validation=validated(CompilerDraft(source=DRAFT)) if begun.draft else None)
    if begun.origin is Origin.RECALLED:
        place.model = PricedModel(answers)
        await place.stores.memory.remember([proven()])
    place.rules = replace(place.rules, confirmations=1)
    await place.stores.jobs.create(begun.job())
    await killed(place, begun.step, "plan", "code")
    await written_before(place, begun.flags)
    await killed(place, begun.step, "evaluate")

    await asyncio.wait_for(place.orchestrator("last", Fuse()).run_job("job-1"), 60)

    step = (await place.stores.jobs.steps("local", "job-1"))[begun.step]
    assert step.candidate_id is not None
    made = (await place.stores.candidates.get("local", step.candidate_id)).candidate
    assert made.origin is begun.origin
    assert [call.role.value for call in step.calls] == begun.roles
    assert (step.reward is not None) is begun.learned
    known = await place.stores.memory.search("local", made.source, 50)
    assert (made.id in {item.experience.candidate_id for item in known}) is begun.learned
    await place.database.close()
