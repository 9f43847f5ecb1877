"""What every `CandidateStore` promises."""

from __future__ import annotations

from dataclasses import replace

import pytest

from services.domain.errors import LeaseLostError, NotFoundError
from services.domain.evaluations import Verdict
from services.domain.gates import GateName
from services.domain.jobs import Lease
from tests.contracts.conftest import Stores
from tests.doubles import a_candidate, a_job, a_report, an_evaluation_request


async def leased(stores: Stores, job_id: str = "job-1", team_id: str = "local") -> Lease:
    await stores.jobs.create(a_job(job_id, team_id=team_id))
    lease = await stores.jobs.acquire("one", 30, job_id)
    assert lease is not None
    return lease


async def test_a_candidate_comes_back_with_its_source_and_report(stores: Stores) -> None:
    lease = await leased(stores)
    candidate = replace(a_candidate(source="class ModelNew: ...  # é\0"), parent_id="cand-parent")
    await stores.candidates.add(lease, candidate)
    assert (await stores.candidates.get("local", candidate.id)).report is None
    report = a_report(Verdict.REJECTED, failed_gate=GateName.COMPILE, detail="error: × expected ';'")
    assert await stores.candidates.finish(an_evaluation_request(candidate), report) is True
    found = await stores.candidates.get("local", candidate.id)
    assert (found.candidate, found.report) == (candidate, report)
    assert await stores.candidates.report(an_evaluation_request(candidate).evaluation_id) == report


async def test_adding_a_candidate_again_changes_nothing(stores: Stores) -> None:
    lease = await leased(stores)
    await stores.candidates.add(lease, a_candidate(source="first"))
    await stores.candidates.add(lease, a_candidate(source="second"))
    (found,) = await stores.candidates.list("local", "job-1")
    assert found.candidate.source == "first"


async def test_a_stale_lease_adds_no_candidate(stores: Stores) -> None:
    lease = await leased(stores)
    stores.clock.advance(31)
    assert await stores.jobs.acquire("two", 30) is not None
    with pytest.raises(LeaseLostError):
        await stores.candidates.add(lease, a_candidate())
    assert await stores.candidates.list("local", "job-1") == ()


async def test_candidates_are_listed_in_order_of_their_steps(stores: Stores) -> None:
    lease = await leased(stores)
    for step in (2, 0, 10, 1):
        await stores.candidates.add(lease, a_candidate(step=step))
    assert [item.candidate.step for item in await stores.candidates.list("local", "job-1")] == [0, 1, 2, 10]


async def test_the_first_verdict_stays(stores: Stores) -> None:
    lease = await leased(stores)
    await stores.candidates.add(lease, a_candidate())
    request = an_evaluation_request(a_candidate())
    assert await stores.candidates.finish(request, a_report(median_us=50.0)) is True
    assert await stores.candidates.finish(request, a_report(Verdict.REJECTED)) is False
    assert await stores.candidates.report(request.evaluation_id) == a_report(median_us=50.0)


async def test_an_evaluation_without_a_report_has_none(stores: Stores) -> None:
    assert await stores.candidates.report("eval-unknown") is None


async def test_another_teams_candidate_is_not_found(stores: Stores) -> None:
    lease = await leased(stores, team_id="ours")
    candidate = a_candidate(team_id="ours")
    await stores.candidates.add(lease, candidate)
    with pytest.raises(NotFoundError):
        await stores.candidates.get("theirs", candidate.id)
    with pytest.raises(NotFoundError):
        await stores.candidates.list("theirs", "job-1")


async def test_what_does_not_exist_is_not_found(stores: Stores) -> None:
    with pytest.raises(NotFoundError):
        await stores.candidates.get("local", "cand-none")
    with pytest.raises(NotFoundError):
        await stores.candidates.list("local", "job-none")
