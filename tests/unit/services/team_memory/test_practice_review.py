"""Learned practices evolve: a wrong one is refuted within ten uses and retired, a right one stays, alike ones merge."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from services.domain.experiences import Experience, ExperienceKind
from services.domain.jobs import Stage
from services.domain.practices import RewardedTrial
from services.domain.value_log import ContextItem, OutcomeEntry
from services.memory.learner import Learner
from services.memory.standing import StandingVerdict
from services.team_memory.maintenance import MemoryMaintenance, Tidied
from services.team_memory.practice_review import PracticeReview
from tests.doubles import InMemoryDatabase, InMemoryMemoryRecords, an_experience
from tests.doubles.builders import MOMENT

FAMILY, SITE = "pointwise", "cpu/g++"
WRONG, RIGHT = "exp-wrong", "exp-right"


def learned(name: str, *, days: int = 0, **changes: object) -> Experience:
    item = replace(an_experience(name, text=f"Applies when: {name}"), title=f"Do {name}", job_id="job-0")
    return replace(item, created_at=MOMENT + timedelta(days=days), **changes)  # type: ignore[arg-type]


class ReadOn(InMemoryMemoryRecords):
    """Records whose learner has read the log as it grew, instead of anew at each call."""

    def __init__(self, database: InMemoryDatabase, learner: Learner) -> None:
        super().__init__(database)
        self.learner = learner

    async def trials(self, team_id: str) -> tuple[RewardedTrial, ...]:
        return self.learner.trials()


class Team:
    """A team whose steps choose two experiences by value; what they choose decides what comes out."""

    def __init__(self, seed: int) -> None:
        self.database = InMemoryDatabase()
        self.learner = Learner()
        self.records = ReadOn(self.database, self.learner)
        self.maintenance = MemoryMaintenance(self.records, cap=1000)
        self.rng = np.random.default_rng(seed)
        self.uses = Counter[str]()
        self.verdicts: dict[str, list[StandingVerdict]] = {WRONG: [], RIGHT: []}
        self.database.remember([an_experience(f"exp-{n}", text=f"expert {n}") for n in range(4)])

    async def job(self, number: int) -> None:
        """A draft and three refinements, then the review that follows every job."""
        best = 100.0
        for step in range(4):
            pool = [(item.id, 0.5) for item in self.database.in_use()]
            chosen = self.learner.choose(self.stage(step), FAMILY, SITE, pool, 2, seed=number * 10 + step)
            median = self.outcome(chosen, best)
            self.log(number, step, chosen, median)
            best = min(best, median) if median is not None else best
        await self.maintenance.after_job("local")
        for one in await PracticeReview(self.records).all("local"):
            self.verdicts[one.practice.id].append(one.verdict)

    @staticmethod
    def stage(step: int) -> Stage:
        return Stage.DRAFT if step == 0 else Stage.REFINE

    def outcome(self, chosen: tuple[str, ...], best: float) -> float | None:
        """Latency in µs, or None for a candidate that is rejected: often with the wrong practice."""
        if self.rng.random() < (0.85 if WRONG in chosen else 0.15):
            return None
        gain = 1.25 if RIGHT in chosen else 1.0
        return float(best / (gain * self.rng.lognormal(0.0, 0.08)))

    def log(self, number: int, step: int, chosen: tuple[str, ...], median: float | None) -> None:
        log = self.database.logs.setdefault("local", [])
        self.uses.update(chosen)
        entry = OutcomeEntry(
            seq=len(log) + 1,
            evaluation_id=f"eval-{number}-{step}",
            job_id=f"job-{number}",
            step=step,
            family=FAMILY,
            site=SITE,
            accepted=median is not None,
            median_us=median,
            context=tuple(ContextItem(experience_id=name, similarity=0.5) for name in chosen),
        )
        log.append(entry)
        self.learner.extend([entry])


@pytest.mark.parametrize("seed", range(4))
async def test_a_wrong_practice_is_refuted_within_ten_uses_and_a_right_one_stays(seed: int) -> None:
    team = Team(seed)
    for number in range(10):
        await team.job(number)
    team.database.remember([learned(WRONG), learned(RIGHT)])
    for number in range(10, 34):
        await team.job(number)

    in_use = {item.id for item in team.database.in_use()}
    assert WRONG not in in_use, team.uses
    assert RIGHT in in_use
    assert team.verdicts[WRONG][-1] is StandingVerdict.REFUTED, "still shown, as what it is"
    assert team.uses[WRONG] <= 10
    assert StandingVerdict.REFUTED not in team.verdicts[RIGHT]
    assert team.uses[RIGHT] > team.uses[WRONG]
    forgotten = next(action for action in await team.records.audit("local") if action.action == "forget")
    assert forgotten.reason.startswith("refuted")


async def test_alike_practices_become_one_with_both_versions_kept() -> None:
    database = InMemoryDatabase()
    records = InMemoryMemoryRecords(database)
    old, new, other = learned("old"), learned("new", days=1), learned("other", days=2, backend="triton")
    by_hand = an_experience("exp-hand", text="written by hand")
    database.remember([old, new, other, by_hand])
    database.vectors.update(dict.fromkeys((old.id, new.id, other.id, by_hand.id), (1.0, 0.0)))

    assert await MemoryMaintenance(records, cap=1000).after_job("local") == Tidied(merged=1)

    found = await PracticeReview(records).all("local")
    assert [(one.practice.id, one.state, one.merged_into) for one in found] == [
        ("other", "active", None),
        ("new", "merged", "old"),
        ("old", "active", None),
    ]
    assert {item.id for item in database.in_use()} == {"old", "other", "exp-hand"}


async def test_what_experts_wrote_is_neither_merged_nor_retired_whatever_its_value() -> None:
    database = InMemoryDatabase()
    records = InMemoryMemoryRecords(database)
    database.remember([an_experience("exp-hand", text="written by hand")])
    log = database.logs.setdefault("local", [])
    for number in range(1, 21):
        log.append(
            OutcomeEntry(
                seq=number, evaluation_id=f"e-{number}", job_id=f"job-{number}", step=0, family=FAMILY, site=SITE,
                accepted=False, context=(ContextItem(experience_id="exp-hand", similarity=0.5),),
            )
        )  # fmt: skip

    await MemoryMaintenance(records, cap=1000).after_job("local")

    assert [item.id for item in database.in_use()] == ["exp-hand"]
    assert await PracticeReview(records).all("local") == ()


def test_only_a_practice_of_a_job_is_a_learned_one() -> None:
    assert learned("x").is_learned_practice
    assert not an_experience().is_learned_practice
    assert not replace(learned("x"), kind=ExperienceKind.TRACE).is_learned_practice
