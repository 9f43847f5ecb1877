"""What an older referee accepted is out of recall until it is accepted again; every store keeps to it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from services.domain.candidates import Candidate
from services.domain.evaluations import EvaluationReport, Verdict
from services.domain.experiences import Experience, ExperienceKind, experience_id
from services.domain.gates import GateName
from services.domain.jobs import Stage
from services.domain.referees import CURRENT
from storage.jobs.verdicts import SqlVerdictStore
from tests.contracts.conftest import MEMORIES, Stores
from tests.contracts.test_memory import query
from tests.doubles import a_candidate, a_report, an_evaluation_request, an_experience

TEAM = "local"
pytestmark = pytest.mark.parametrize("stores", MEMORIES, indirect=True)


def judged_by(version: str, report: EvaluationReport | None = None) -> EvaluationReport:
    report = report or a_report()
    return replace(report, environment=replace(report.environment, referee_version=version))


async def plant(stores: Stores, step: int, version: str, *, team_id: str = TEAM) -> Candidate:
    """An accepted candidate of a job of its own, and its trace in memory."""
    candidate = replace(a_candidate(f"gone-{team_id}", step, source=f"class ModelNew: {step}\n"), team_id=team_id)
    await stores.candidates.finish(replace(an_evaluation_request(candidate), team_id=team_id), judged_by(version))
    await stores.memory.remember([trace(candidate, int(version) if version.isdecimal() else None)])
    return candidate


def trace(candidate: Candidate, referee: int | None) -> Experience:
    name = experience_id(candidate.id, ExperienceKind.TRACE)
    return replace(
        an_experience(name, text=f"advice {candidate.step}", team_id=candidate.team_id),
        kind=ExperienceKind.TRACE,
        verdict=Verdict.ACCEPTED,
        referee=referee,
        speedup=9.0 - candidate.step,
        candidate_id=candidate.id,
        code=candidate.source,
    )


async def recalled(stores: Stores, team_id: str = TEAM) -> set[str | None]:
    found = await stores.memory.recall(query("advice", team_id=team_id))
    refining = await stores.memory.recall(replace(query("advice", team_id=team_id), stage=Stage.REFINE))
    shown = await stores.memory.search(team_id, "advice")
    assert {one.experience.id for one in refining} <= {one.experience.id for one in found}
    assert {one.experience.id for one in found} <= {one.experience.id for one in shown}
    return {one.experience.candidate_id for one in shown}


async def verify(stores: Stores, candidate: Candidate, report: EvaluationReport, team_id: str = TEAM) -> None:
    stored = {one.request.candidate_id: one for one in await stores.verdicts.accepted(team_id)}
    assert await stores.verdicts.verified(stored[candidate.id], report, "ada")


async def test_what_an_older_or_unknown_referee_accepted_is_recalled_once_todays_accepts_it(stores: Stores) -> None:
    old, unknown = await plant(stores, 0, str(CURRENT - 1)), await plant(stores, 1, "none")
    today = await plant(stores, 2, str(CURRENT))
    assert await recalled(stores) == {today.id}
    await verify(stores, old, judged_by(str(CURRENT)))
    assert await recalled(stores) == {today.id, old.id}
    await verify(stores, unknown, judged_by(str(CURRENT)))
    assert await recalled(stores) == {today.id, old.id, unknown.id}
    assert (await stores.memory.get(TEAM, trace(old, None).id)).referee == CURRENT


async def test_what_fails_or_is_accepted_by_an_older_referee_again_stays_out(stores: Stores) -> None:
    old, other = await plant(stores, 0, "1"), await plant(stores, 1, "1")
    await verify(stores, old, judged_by("2"))
    failed = a_report(Verdict.REJECTED, failed_gate=GateName.INTEGRITY, detail="it cheats")
    await verify(stores, other, failed)
    assert await recalled(stores) == set()


async def test_others_take_the_places_of_what_is_left_out(stores: Stores) -> None:
    for step in range(30):
        await plant(stores, step, "1")
    failures = [an_experience(f"exp-{n}", text=f"a lesson {n}") for n in range(6)]
    await stores.memory.remember(failures)
    found = await stores.memory.recall(query("advice"))
    assert {one.experience.id for one in found} == {item.id for item in failures}


async def test_a_team_that_recalls_anothers_experiences_gets_them_once_they_are_proven(stores: Stores) -> None:
    await stores.memory.remember([an_experience("exp-own", team_id="theirs", text="their own")])
    old = await plant(stores, 0, "1")
    await stores.records.share(TEAM, "theirs", "ada")
    assert old.id not in await recalled(stores, "theirs")
    await verify(stores, old, judged_by(str(CURRENT)))
    assert old.id in await recalled(stores, "theirs")


async def test_results_that_are_not_proven_any_more_are_counted(stores: Stores) -> None:
    if not isinstance(stores.verdicts, SqlVerdictStore):
        pytest.skip("in memory nobody counts them; the variants with a database do")
    old = await plant(stores, 0, "1")
    await plant(stores, 1, str(CURRENT))
    assert await stores.verdicts.unproven() == 1
    await verify(stores, old, judged_by(str(CURRENT)))
    assert await stores.verdicts.unproven() == 0


async def test_a_self_attested_result_stays_out_and_does_not_count_as_old(stores: Stores) -> None:
    attested = replace(judged_by(str(CURRENT)), self_attested="the problem's TOLERANCE is looser")
    candidate = await plant(stores, 0, "1")
    await verify(stores, candidate, attested)
    assert await recalled(stores) == set()
    if isinstance(stores.verdicts, SqlVerdictStore):
        assert await stores.verdicts.unproven() == 0
