"""Jobs of a bench on a server: one request to make each, and rows like those of jobs here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kernelwright.bench.jobs import ServerJobs
from kernelwright.bench.rows import row_of
from services.client import Client
from services.domain import codec
from services.domain.errors import UserError
from services.domain.jobs import JobStatus
from services.domain.referees import REFEREE_VERSION
from services.runtime.clock import SystemClock
from tests.doubles import a_candidate, a_problem, a_report
from tests.doubles.builders import MOMENT, a_device
from tests.unit.kernelwright.bench.builders import an_item, some_terms
from tests.unit.kernelwright.servers import Reply, ScriptedServer, answering, refusal

CANDIDATE = a_candidate()
SUMMARY = {
    **{name: codec.to_data(getattr(CANDIDATE, name)) for name in ("id", "job_id", "step", "parent_id", "origin")},
    **{name: codec.to_data(getattr(CANDIDATE, name)) for name in ("backend", "summary", "created_at")},
    "verdict": "accepted",
    "device_s": 4.0,
}
JOB = {
    "id": "job-1",
    "status": "solved",
    "message": "all 2 rounds are used",
    "started_at": "2026-01-01T00:00:00Z",
    "finished_at": "2026-01-01T00:01:00Z",
    "best_candidate_id": CANDIDATE.id,
    "analysis": {"family": "pointwise", "operators": ["aten.relu.default"]},
}


def an_event(number: int, kind: str, data: dict[str, Any]) -> str:
    document = {"job_id": "job-1", "seq": number, "kind": kind, "data": data, "at": MOMENT.isoformat()}
    return f"id: {number}\nevent: {kind}\ndata: {json.dumps(document)}\n\n"


EVENTS = "".join(
    (
        an_event(1, "job.status", {"status": "validating", "message": None}),
        an_event(2, "job.validated", {"seconds": 6.5, "device": codec.to_data(a_device()), "baselines": {}}),
        an_event(3, "job.finished", {"status": "solved"}),
    )
)
REPLIES = {
    "POST /api/v1/jobs": Reply(document={"id": "job-1"}, status=201),
    "GET /api/v1/jobs/job-1": Reply(document=JOB),
    "GET /api/v1/jobs/job-1/candidates": Reply(document=[SUMMARY]),
    f"GET /api/v1/candidates/{CANDIDATE.id}": Reply(
        document={**SUMMARY, "source": "class ModelNew: ...\n", "report": codec.to_data(a_report())}
    ),
    "GET /api/v1/jobs/job-1/result": Reply(document={"rounds": 2, "usage": {"input_tokens": 7}}),
    "GET /api/v1/jobs/job-1/bundle": Reply(text="zip", headers={"Content-Type": "application/zip"}),
    "GET /api/v1/jobs/job-1/events": Reply(text=EVENTS, headers={"Content-Type": "text/event-stream"}),
}


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with answering(REPLIES) as running:
        yield running


def jobs(server: ScriptedServer) -> ServerJobs:
    return ServerJobs(Client(server.address), some_terms(compiler_draft=None), SystemClock())


async def test_a_job_is_made_with_all_terms(server: ScriptedServer) -> None:
    assert await jobs(server).submit(a_problem(), "bench-1") == "job-1"
    body = server.bodies["POST /api/v1/jobs"]
    assert body["problem"]["source"] == a_problem().source
    assert (body["model"], body["baselines"], body["compiler_draft"]) == ("playbook", ["eager", "compile"], None)
    assert body["budget"]["rounds"] == 2


async def test_a_job_that_ended_becomes_a_row_with_its_kernel(server: ScriptedServer, tmp_path: Path) -> None:
    found = await jobs(server).finish("job-1", tmp_path / "kernels")
    row = row_of(an_item(), found, device="cpu", model="playbook", attempt=1, kernel_path=str(found.kernel))
    assert (row.status, row.accepted, row.figures["eager"]) == (JobStatus.SOLVED, True, 2.0)
    assert (row.device_s.validation, row.device_s.candidates, row.wall_s) == (6.5, 4.0, 60.0)
    assert (row.hardware, row.tokens, row.referee_version) == (a_device().model, 7, REFEREE_VERSION)
    assert found.kernel == tmp_path / "kernels" / "kernel.py"
    assert (tmp_path / "kernels" / "kernel.py").read_text() == "class ModelNew: ...\n"
    assert (tmp_path / "kernels" / "bundle.zip").read_text() == "zip"


async def test_a_refused_problem_has_its_reason_and_no_kernel(tmp_path: Path) -> None:
    refused = {**JOB, "status": "refused", "message": "it is constant", "best_candidate_id": None, "analysis": None}
    replies = {
        **REPLIES,
        "GET /api/v1/jobs/job-1": Reply(document=refused),
        "GET /api/v1/jobs/job-1/candidates": Reply(document=[]),
    }
    with answering(replies) as server:
        found = await jobs(server).finish("job-1", tmp_path / "kernels")
    assert (found.status, found.message, found.kernel) == (JobStatus.REFUSED, "it is constant", None)
    assert not (tmp_path / "kernels").exists()


async def test_what_the_server_refuses_is_told() -> None:
    replies = {"POST /api/v1/jobs": refusal("unknown device 'h900'; known: cpu", 422)}
    with answering(replies) as server, pytest.raises(UserError, match="unknown device 'h900'"):
        await jobs(server).submit(a_problem(), "bench-1")
