"""What the stored candidates do beyond the port's promise."""

from __future__ import annotations

from services.domain.evaluations import Verdict
from storage.database import Database
from storage.jobs.candidates import SqlCandidateStore
from tests.doubles import FrozenClock, a_candidate, a_report, an_evaluation_request


async def test_a_later_verdict_takes_the_place_of_an_infrastructure_error(database: Database) -> None:
    store = SqlCandidateStore(database, FrozenClock())
    request = an_evaluation_request(a_candidate())
    assert await store.finish(request, a_report(Verdict.INFRASTRUCTURE_ERROR)) is True
    assert await store.finish(request, a_report(Verdict.INFRASTRUCTURE_ERROR)) is False
    assert await store.finish(request, a_report()) is True
    assert await store.finish(request, a_report(Verdict.REJECTED)) is False
    assert await store.report(request.evaluation_id) == a_report()


async def test_a_candidate_can_be_judged_without_a_job(database: Database) -> None:
    store = SqlCandidateStore(database, FrozenClock())
    request = an_evaluation_request(a_candidate("no-such-job"))
    assert await store.finish(request, a_report()) is True
    assert await store.report(request.evaluation_id) == a_report()
