"""What the access log says, and what it keeps to itself."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from services.telemetry.logs import configure_logs
from tests.unit.web.test_app import Installation


@pytest.fixture
def stream() -> io.StringIO:
    stream = io.StringIO()
    configure_logs("json", "INFO", stream)
    return stream


def accesses(stream: io.StringIO) -> list[dict[str, str]]:
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    return [line for line in lines if line["logger"] == "kernelwright.access"]


async def test_a_request_is_one_line_with_its_job_and_without_its_query(tmp_path: Path, stream: io.StringIO) -> None:
    here = Installation(tmp_path)
    job_id = await here.submit()
    await here.client.get(f"/jobs/{job_id}?secret=none-of-your-business")
    await here.client.get("/jobs/none")
    submitted, shown, missing = accesses(stream)
    assert submitted["event"].startswith("POST /api/v1/jobs 201 in ")
    assert shown["event"].startswith(f"GET /api/v1/jobs/{job_id} 200 in ")
    assert ("job" in submitted, shown["job"], missing["job"]) == (False, job_id, "none")
    assert "none-of-your-business" not in stream.getvalue()


async def test_secrets_of_shared_links_and_health_checks_are_not_logged(tmp_path: Path, stream: io.StringIO) -> None:
    here = Installation(tmp_path)
    await here.client.get("http://127.0.0.1:8000/shared/the-secret/of-a-link")
    await here.client.get("http://127.0.0.1:8000/healthz")
    (line,) = accesses(stream)
    assert line["event"].startswith("GET /shared/… 404 in ")
    assert "the-secret" not in stream.getvalue()


async def test_requests_are_counted_with_the_time_to_their_answer(tmp_path: Path) -> None:
    sample = ("kernelwright_request_seconds_count", {"method": "GET", "status": "4xx"})
    before = REGISTRY.get_sample_value(*sample) or 0.0
    await Installation(tmp_path).client.get("/jobs/none")
    assert REGISTRY.get_sample_value(*sample) == before + 1
