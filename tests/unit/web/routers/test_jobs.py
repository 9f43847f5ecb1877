"""Deleting a job over the REST API."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from services.client import Client
from services.domain.errors import DeletedError
from tests.unit.web.test_app import PROBLEM, Installation, assert_problem, runtime  # noqa: F401 - a fixture


@pytest.fixture
async def here(runtime: Path) -> AsyncIterator[Installation]:  # noqa: F811
    installation = Installation(runtime)
    yield installation
    await installation.client.aclose()


async def ended(here: Installation) -> str:
    job = await here.submit()
    (await here.client.post(f"/jobs/{job}/cancel")).raise_for_status()
    return job


async def test_a_deleted_job_is_gone_wherever_its_page_looks(here: Installation) -> None:
    job = await ended(here)
    answer = await here.client.delete(f"/jobs/{job}")
    assert answer.status_code == 200, answer.text
    assert answer.json()["job_id"] == job
    assert answer.json()["events"] == 3
    for path in ("", "/events", "/log", "/steps", "/candidates", "/result", "/best", "/spec", "/costs"):
        gone = assert_problem(await here.client.get(f"/jobs/{job}{path}"), 410)
        assert f"job {job} was deleted" in gone["detail"]
    assert_problem(await here.client.delete(f"/jobs/{job}"), 410)
    assert (await here.client.get("/jobs")).json()["items"] == []


async def test_a_job_that_goes_on_is_not_deleted_and_one_never_there_is_not_found(here: Installation) -> None:
    job = await here.submit()
    refused = assert_problem(await here.client.delete(f"/jobs/{job}"), 409)
    assert "cancel it" in refused["detail"]
    assert_problem(await here.client.delete("/jobs/job-nowhere"), 404)


async def test_the_key_of_a_deleted_job_makes_no_second_one(here: Installation) -> None:
    headers = {"Idempotency-Key": "once"}
    body = {"problem": PROBLEM}
    made = (await here.client.post("/jobs", json=body, headers=headers)).json()["id"]
    (await here.client.post(f"/jobs/{made}/cancel")).raise_for_status()
    (await here.client.delete(f"/jobs/{made}")).raise_for_status()
    refused = assert_problem(await here.client.post("/jobs", json=body, headers=headers), 409)
    assert "use a fresh key" in refused["detail"]


def test_the_client_tells_a_deleted_job_from_an_unknown_one() -> None:
    problem = {"type": "about:blank", "title": "Gone", "status": 410, "detail": "job job-a was deleted"}

    def answer(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(410, json=problem, headers={"content-type": "application/problem+json"})

    with (
        Client("http://127.0.0.1:1", transport=httpx.MockTransport(answer)) as client,
        pytest.raises(DeletedError, match="job job-a was deleted"),
    ):
        client.job("job-a")
