"""What every `ShareStore` does."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from services.domain.access import ReportShare, token_digest
from services.domain.errors import NotFoundError
from services.ports.teams import ShareStore
from tests.contracts.conftest import Stores
from tests.doubles import a_job
from tests.doubles.builders import MOMENT


@pytest.fixture
async def shares(stores: Stores) -> ShareStore:
    await stores.jobs.create(a_job())
    return stores.shares


def a_share(number: int = 1, *, job_id: str = "job-1") -> ReportShare:
    made = MOMENT + timedelta(minutes=number)
    return ReportShare(
        id=f"share-{number}",
        team_id="local",
        job_id=job_id,
        digest=token_digest(f"token-{number}"),
        created_at=made,
        expires_at=made + timedelta(days=7),
    )


async def test_a_link_is_found_by_its_tokens_digest_alone(shares: ShareStore) -> None:
    await shares.add(a_share())
    assert await shares.find(token_digest("token-1")) == a_share()
    assert await shares.find(token_digest("token-2")) is None
    assert await shares.find("token-1") is None


async def test_a_jobs_links_are_listed_newest_first_and_no_other_jobs_or_teams(shares: ShareStore) -> None:
    for share in (a_share(1), a_share(2), a_share(3, job_id="job-2")):
        await shares.add(share)
    assert [share.id for share in await shares.list("local", "job-1")] == ["share-2", "share-1"]
    assert await shares.list("other", "job-1") == ()


async def test_a_revoked_link_stays_revoked_since_the_first_time(shares: ShareStore) -> None:
    await shares.add(a_share())
    first = await shares.revoke("local", "job-1", "share-1")
    assert first == replace(a_share(), revoked_at=first.revoked_at)
    assert first.revoked_at is not None
    assert await shares.revoke("local", "job-1", "share-1") == first
    assert not first.is_open(MOMENT)


@pytest.mark.parametrize(
    ("team", "job", "share"),
    [("other", "job-1", "share-1"), ("local", "job-2", "share-1"), ("local", "job-1", "share-2")],
)
async def test_nobody_revokes_what_is_not_theirs(shares: ShareStore, team: str, job: str, share: str) -> None:
    await shares.add(a_share())
    with pytest.raises(NotFoundError, match="no link"):
        await shares.revoke(team, job, share)
    assert await shares.list("local", "job-1") == (a_share(),)
