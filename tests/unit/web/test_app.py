"""The REST API over stores in memory."""

from __future__ import annotations

import asyncio
import dataclasses
import io
import json
import zipfile
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from services.adapters.llm.registry import ModelRegistry
from services.adapters.llm.settings import ModelSettings
from services.domain.candidates import Candidate, candidate_id
from services.domain.errors import StorageError
from services.domain.events import EventKind
from services.domain.jobs import LOCAL_TEAM
from services.domain.steps import StepRecord
from services.jobs.catalogue import Catalogue
from services.jobs.service import JobService
from tests.doubles import (
    FrozenClock,
    InMemoryCandidateStore,
    InMemoryDatabase,
    InMemoryEventLog,
    InMemoryJobStore,
    InMemoryKeyStore,
    ScriptedModel,
    a_candidate,
    a_problem,
    a_report,
    a_step,
    an_evaluation_request,
)
from tests.web_services import web_services
from web.app import create_app
from web.routers.events import batches, gapless

MODELS = ModelRegistry(ModelSettings(), FrozenClock(), offline={"playbook": lambda: ScriptedModel([])})
CATALOGUE = Catalogue(
    backends=("cpp",),
    devices=("cpu",),
    strategies=("greedy", "value_driven"),
    models=MODELS.names,
    resolve_model=MODELS.resolve,
)
PROBLEM = {"name": "relu", "source": a_problem().source, "path": "relu.py"}


class Installation:
    """An app over stores in memory, and what tests do to the stores behind its back."""

    def __init__(self, runtime: Path, **settings: Any) -> None:
        self.database = InMemoryDatabase(clock=FrozenClock())
        self.jobs = InMemoryJobStore(self.database)
        self.candidates = InMemoryCandidateStore(self.database)
        self.events = InMemoryEventLog(self.database)
        service = JobService(self.jobs, self.candidates, CATALOGUE, self.database.clock)
        self.services = web_services(self.database.clock, service, runtime, **{"events": self.events, **settings})
        app = create_app(self.services, max_body_bytes=100_000)
        self._transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        self.client = self.another_client()

    def another_client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=self._transport, base_url="http://127.0.0.1:8000/api/v1")

    async def submit(self, **fields: Any) -> str:
        answer = await self.client.post("/jobs", json={"problem": PROBLEM, **fields})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    async def solve(self, job_id: str, *sources: str) -> None:
        """Record one accepted candidate per source, as an orchestrator would; the last one is the best."""
        lease = await self.jobs.acquire("test", 60, job_id)
        assert lease is not None
        previous: Candidate | None = None
        for index, source in enumerate(sources):
            candidate = replace(a_candidate(job_id, index, source=source), parent_id=previous.id if previous else None)
            await self.candidates.add(lease, candidate)
            await self.candidates.finish(an_evaluation_request(candidate), a_report(median_us=100.0 - index))
            step = replace(a_step(job_id, index), candidate_id=candidate.id)
            await self.jobs.record_step(lease, StepRecord(step=step, best_candidate_id=candidate.id))
            previous = candidate
        await self.events.append(job_id, EventKind.JOB_FINISHED, {"status": "solved"})


@pytest.fixture
def runtime(tmp_path: Path) -> Path:
    path = tmp_path / "kernelwright_rt.py"
    path.write_text("# the runtime\n")
    return path


@pytest.fixture
async def here(runtime: Path) -> AsyncIterator[Installation]:
    installation = Installation(runtime)
    yield installation
    await installation.client.aclose()


def assert_problem(answer: httpx.Response, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    document: dict[str, Any] = answer.json()
    assert document["status"] == status
    assert document["title"]
    assert document["detail"]
    return document


async def test_a_submitted_job_is_queued_and_can_be_read_and_listed(here: Installation) -> None:
    answer = await here.client.post("/jobs", json={"problem": PROBLEM, "budget": {"rounds": 3}, "tags": ["nightly"]})
    assert answer.status_code == 201
    job = answer.json()
    assert job["status"] == "queued"
    assert job["budget"]["rounds"] == 3
    assert answer.headers["location"] == f"/api/v1/jobs/{job['id']}"
    assert (await here.client.get(f"/jobs/{job['id']}")).json() == job
    assert (await here.client.get("/jobs")).json() == {"items": [job], "jobs": [job], "next_cursor": None}


async def test_listing_filters_by_status_and_pages_by_cursor(here: Installation) -> None:
    ids = [await here.submit() for _ in range(5)]
    await here.client.post(f"/jobs/{ids[0]}/cancel")
    cancelled = (await here.client.get("/jobs", params={"status": "cancelled"})).json()
    assert [job["id"] for job in cancelled["items"]] == [ids[0]]
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = (await here.client.get("/jobs", params={"limit": "2"} | ({"cursor": cursor} if cursor else {}))).json()
        seen += [job["id"] for job in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert sorted(seen) == sorted(ids)


async def test_the_same_idempotency_key_gives_the_same_job(here: Installation) -> None:
    headers = {"Idempotency-Key": "build-17"}
    first = await here.client.post("/jobs", json={"problem": PROBLEM}, headers=headers)
    again = await here.client.post("/jobs", json={"problem": PROBLEM}, headers=headers)
    other = await here.client.post("/jobs", json={"problem": PROBLEM, "seed": 1}, headers=headers)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["id"] == again.json()["id"]
    assert "Idempotency-Key" in assert_problem(other, 409)["detail"]
    assert len(here.database.jobs) == 1


async def test_twin_requests_with_one_key_make_one_job(here: Installation) -> None:
    send = [here.client.post("/jobs", json={"problem": PROBLEM}, headers={"Idempotency-Key": "twin"}) for _ in range(8)]
    answers = await asyncio.gather(*send)
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert sorted(answer.status_code for answer in answers) == [200] * 7 + [201]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"backend": "fortran"}, "unknown backend 'fortran'; known: cpp"),
        ({"backend": "cuda"}, "backend 'cuda' is not available here: an NVIDIA GPU with nvcc was not found"),
        ({"device": "h100"}, "unknown device 'h100'; known: cpu"),
        ({"strategy": "luck"}, "unknown strategy 'luck'; known: greedy, value_driven"),
        ({"model": "gpt"}, "unknown model 'gpt'; known: playbook"),
        ({"model": "openai:gpt"}, "need an api_key"),
        ({"baselines": ["naive"]}, "unknown baseline 'naive'"),
        ({"budget": {"rounds": 0}}, "rounds"),
        ({"budget": {"dollars": -1}}, "dollars"),
        ({"surprise": 1}, "surprise"),
        ({"seed_candidate": " \n"}, "empty"),
        ({"seed_candidate": "class ModelNew(:\n"}, "the candidate cannot be judged: line 1: syntax error"),
        ({"seed_candidate": "So:\n```python\nclass ModelNew: ...\n"}, "the first fence is at line 2"),
        ({"guidance": "a\0b"}, "the guidance must be valid text of at most 4000 characters"),
        ({"guidance": "w" * 4001}, "guidance"),
        ({"tags": ["a\0b"]}, "tag 1"),
        ({"tags": ["a\x1b[2J"]}, "the tag 1 must be 1 to 1000 characters of valid text without control characters"),
    ],
)
async def test_a_wrong_field_is_answered_with_what_to_change(
    here: Installation, change: dict[str, Any], words: str
) -> None:
    answer = await here.client.post("/jobs", json={"problem": PROBLEM, **change})
    assert words in assert_problem(answer, 422)["detail"]
    assert here.database.jobs == {}


async def test_a_problem_that_cannot_be_used_is_refused_with_line_and_remedy(here: Installation) -> None:
    source = PROBLEM["source"].replace("def forward(self, x):", "def forward(self, x, y):")
    answer = await here.client.post("/jobs", json={"problem": {**PROBLEM, "source": source}})
    document = assert_problem(answer, 422)
    assert (document["path"], document["line"]) == ("relu.py", 5)
    assert document["remedy"]
    lint = await here.client.post("/problems/lint", json={**PROBLEM, "source": source})
    assert assert_problem(lint, 422) == document


async def test_a_problem_whose_backward_is_not_written_out_is_refused_with_line_and_remedy(here: Installation) -> None:
    answer = await here.client.post(
        "/jobs", json={"problem": {**PROBLEM, "source": "BACKWARD = 1 == 1\n" + PROBLEM["source"]}}
    )
    document = assert_problem(answer, 422)
    assert "BACKWARD" in document["detail"]
    assert document["line"] == 1
    assert document["remedy"]
    assert here.database.jobs == {}


async def test_lint_shows_what_agents_will_see(here: Installation) -> None:
    source = PROBLEM["source"] + "\nHELD_OUT = [lambda: [torch.randn(7)]]\n"
    answer = await here.client.post("/problems/lint", json={"source": source})
    assert answer.status_code == 200
    assert "HELD_OUT" not in answer.json()["public_source"]


async def test_unicode_that_cannot_be_stored_is_an_ordinary_refusal(here: Installation) -> None:
    body = json.dumps({"problem": {"source": "x = '\ud800'", "name": "\ud800"}})
    answer = await here.client.post("/jobs", content=body, headers={"content-type": "application/json"})
    assert_problem(answer, 422)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nowhere", 404),
        ("DELETE", "/jobs", 405),
        ("GET", "/jobs/job-none", 404),
        ("GET", "/jobs/job-none/events", 404),
        ("GET", "/jobs/job-none/trajectory", 404),
        ("GET", "/jobs/job-none/bundle", 404),
        ("GET", "/jobs/job-none/best", 404),
        ("POST", "/jobs/job-none/cancel", 404),
        ("GET", "/candidates/cand-none", 404),
        ("GET", "/evaluations/job-none", 404),
        ("GET", "/jobs?status=happy", 422),
        ("GET", "/jobs?limit=0", 422),
        ("POST", "/jobs", 422),
    ],
)
async def test_every_error_is_a_problem_document(here: Installation, method: str, path: str, status: int) -> None:
    assert_problem(await here.client.request(method, path), status)


async def test_a_body_over_the_limit_is_refused_whether_its_length_is_declared_or_not(here: Installation) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b" " * 10_000

    assert_problem(await here.client.post("/jobs", content=b" " * 200_000), 413)
    assert_problem(await here.client.post("/jobs", content=chunks()), 413)


async def test_a_foreign_host_name_is_refused(here: Installation) -> None:
    assert_problem(await here.client.get("/jobs", headers={"Host": "attacker.example:8000"}), 421)
    assert (await here.client.get("/jobs", headers={"Host": "localhost:8000"})).status_code == 200


async def test_a_database_that_cannot_be_reached_is_503_and_a_bug_is_500(
    here: Installation, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def unreachable(*_: object, **__: object) -> None:
        raise StorageError("the database cannot be reached")

    async def buggy(*_: object, **__: object) -> None:
        key = "sk-" + "private"  # a local variable, as a frame of a bug may hold
        assert key
        raise ZeroDivisionError("secret internals")

    monkeypatch.setattr(here.jobs, "get", unreachable)
    monkeypatch.setattr(here.jobs, "list", buggy)
    assert "cannot be reached" in assert_problem(await here.client.get("/jobs/job-1"), 503)["detail"]
    assert "secret" not in str(assert_problem(await here.client.get("/jobs"), 500))
    assert "secret internals" in caplog.text
    assert "sk-private" not in caplog.text


async def test_readiness_says_why_not_while_health_goes_on(runtime: Path) -> None:
    async def broken() -> None:
        address = "postgresql+psycopg://kw@db.internal/kw"
        raise StorageError(
            f"database {address} is newer than this program", remedy="Install the version that wrote it."
        )

    here = Installation(runtime, ready=broken)
    async with here.client:
        assert (await here.client.get("http://127.0.0.1/healthz")).json() == {"status": "ok"}
        problem = assert_problem(await here.client.get("http://127.0.0.1/readyz"), 503)
        assert "Install the version that wrote it" in problem["detail"]
        assert "internal" not in str(problem), "whoever asks needs no token"


async def test_strangers_learn_no_names_from_a_database_that_is_away(
    runtime: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def unreachable(*_: object, **__: object) -> None:
        raise StorageError("database postgresql://kw@db.internal/kw cannot be reached")

    here = Installation(runtime, token="let-me-in", ready=unreachable)
    monkeypatch.setattr(InMemoryKeyStore, "token", unreachable)
    monkeypatch.setattr(here.jobs, "get", unreachable)
    guessed = {"Authorization": f"Bearer kw_{'0' * 10}_{'A' * 43}"}
    async with here.client:
        for answer in (
            await here.client.get("http://127.0.0.1/readyz"),
            await here.client.get("/jobs", headers=guessed),
        ):
            assert "internal" not in str(assert_problem(answer, 503))
        known = await here.client.get("/jobs/job-1", headers={"Authorization": "Bearer let-me-in"})
        assert "db.internal" in str(assert_problem(known, 503))
    assert caplog.text.count("db.internal") >= 3


async def test_bad_tokens_are_slowed_down_and_good_ones_are_not(runtime: Path) -> None:
    here = Installation(runtime, token="let-me-in")
    async with here.client:
        answers = [await here.client.get("/jobs", headers={"Authorization": f"Bearer guess-{n}"}) for n in range(20)]
        codes = [answer.status_code for answer in answers]
        assert codes[0] == 401
        assert codes[-1] == 429
        assert codes == sorted(codes), "first refused, then told to wait"
        assert int(answers[-1].headers["Retry-After"]) >= 1
        assert "token" in assert_problem(answers[-1], 429)["detail"]
        good = await here.client.get("/jobs", headers={"Authorization": "Bearer let-me-in"})
        assert good.status_code == 200


async def test_a_token_opens_the_api_and_nothing_else_does(runtime: Path) -> None:
    here = Installation(runtime, token="let-me-in")
    async with here.client:
        refused = await here.client.get("/jobs")
        assert_problem(refused, 401)
        assert refused.headers["www-authenticate"] == "Bearer"
        assert_problem(await here.client.get("/jobs", headers={"Authorization": "Bearer wrong"}), 401)
        assert (await here.client.get("/jobs", headers={"Authorization": "Bearer let-me-in"})).status_code == 200


async def test_cancel_is_repeatable_and_a_finished_job_cannot_be_paused(here: Installation) -> None:
    job_id = await here.submit()
    for _ in range(2):
        assert (await here.client.post(f"/jobs/{job_id}/cancel")).json()["status"] == "cancelled"
    assert_problem(await here.client.post(f"/jobs/{job_id}/pause"), 409)


async def test_pause_and_resume(here: Installation) -> None:
    job_id = await here.submit()
    assert (await here.client.post(f"/jobs/{job_id}/pause")).json()["status"] == "paused"
    assert (await here.client.post(f"/jobs/{job_id}/resume")).json()["status"] == "queued"


async def test_the_best_candidate_the_listing_and_the_diff_agree(here: Installation) -> None:
    job_id = await here.submit()
    assert_problem(await here.client.get(f"/jobs/{job_id}/best"), 404)
    await here.solve(job_id, "class ModelNew: ...\nx = 1\n", "class ModelNew: ...\nx = 2\n")
    best = (await here.client.get(f"/jobs/{job_id}/best")).json()
    listed = (await here.client.get(f"/jobs/{job_id}/candidates")).json()["items"]
    assert [entry["id"] for entry in listed] == [candidate_id(job_id, 0), candidate_id(job_id, 1)]
    assert best["id"] == listed[1]["id"]
    assert best["report"]["verdict"] == "accepted"
    assert best["report"]["phases_s"]["total"] == 1.0
    assert (await here.client.get(f"/candidates/{best['id']}")).json() == best
    diff = await here.client.get(f"/candidates/{best['id']}/diff", params={"against": listed[0]["id"]})
    assert "-x = 1\n+x = 2\n" in diff.text
    assert (await here.client.get(f"/candidates/{best['id']}/diff")).text == diff.text
    assert_problem(await here.client.get(f"/candidates/{listed[0]['id']}/diff"), 404)


async def test_the_result_document_counts_rounds_and_candidates(here: Installation) -> None:
    job_id = await here.submit()
    await here.solve(job_id, "a = 1\n", "a = 2\n")
    document = (await here.client.get(f"/jobs/{job_id}/result")).json()
    assert list(document) == ["job_id", "status", "best", "rounds", "candidates", "usage", "trajectory_path"]
    assert list(document["best"]) == ["candidate_id", "source_path", "speedup", "verdict"]
    assert (document["rounds"], document["candidates"]) == (2, 2)
    assert document["best"]["speedup"]["eager"] == pytest.approx(200 / 99)


async def test_the_trajectory_has_a_json_line_per_step(here: Installation) -> None:
    job_id = await here.submit()
    await here.solve(job_id, "a = 1\n", "a = 2\n")
    answer = await here.client.get(f"/jobs/{job_id}/trajectory")
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert [line["step"]["index"] for line in lines] == [0, 1]
    assert lines[1]["candidate"]["source"] == "a = 2\n"
    assert lines[1]["report"]["verdict"] == "accepted"


async def test_the_bundle_holds_the_kernel_its_runtime_the_report_and_the_trajectory(here: Installation) -> None:
    job_id = await here.submit()
    await here.solve(job_id, "a = 1\n")
    answer = await here.client.get(f"/jobs/{job_id}/bundle")
    archive = zipfile.ZipFile(io.BytesIO(answer.content))
    names = ["kernel.py", "kernelwright_rt.py", "problem.py", "test_kernel.py", "report.json", "trajectory.jsonl"]
    assert set(archive.namelist()) >= {f"{job_id}/{name}" for name in names}
    assert archive.read(f"{job_id}/kernel.py") == b"a = 1\n"
    assert json.loads(archive.read(f"{job_id}/report.json"))["verdict"] == "accepted"


async def test_guidance_comes_back_with_the_job_and_its_spec(here: Installation) -> None:
    job_id = await here.submit(guidance="rows are never empty")
    assert (await here.client.get(f"/jobs/{job_id}")).json()["guidance"] == "rows are never empty"
    assert (await here.client.get(f"/jobs/{job_id}/spec")).json()["guidance"] == "rows are never empty"


async def test_a_form_that_needs_a_kernel_is_refused_while_there_is_none(here: Installation) -> None:
    job_id = await here.submit()
    answer = await here.client.get(f"/jobs/{job_id}/bundle", params={"format": "package"})
    assert answer.status_code == 409
    assert "no accepted kernel" in answer.json()["detail"]
    assert (await here.client.get(f"/jobs/{job_id}/bundle", params={"format": "tarball"})).status_code == 422


async def test_a_candidate_may_be_the_answer_of_a_chat(here: Installation) -> None:
    reply = "Here it is:\n\n```python\nclass ModelNew: ...\n```\nIt is fused.\n"
    answer = await here.client.post("/evaluations", json={"problem": PROBLEM, "candidate": reply})
    assert here.database.jobs[answer.json()["id"]].spec.seed_candidate == "class ModelNew: ...\n"


async def test_an_evaluation_is_a_job_with_one_given_candidate(here: Installation) -> None:
    answer = await here.client.post("/evaluations", json={"problem": PROBLEM, "candidate": "class ModelNew: ...\n"})
    assert answer.status_code == 202
    evaluation = answer.json()
    assert evaluation["report"] is None
    spec = here.database.jobs[evaluation["id"]].spec
    assert (spec.seed_candidate, spec.budget.rounds) == ("class ModelNew: ...\n", 1)
    await here.solve(evaluation["id"], "class ModelNew: ...\n")
    done = (await here.client.get(answer.headers["location"].removeprefix("/api/v1"))).json()
    assert done["report"]["verdict"] == "accepted"
    job_id = await here.submit()
    assert_problem(await here.client.get(f"/evaluations/{job_id}"), 404)


def sent_events(text: str) -> list[tuple[int, str]]:
    blocks = [dict(line.split(": ", 1) for line in block.splitlines()) for block in text.split("\n\n") if block]
    return [(int(block["id"]), block["event"]) for block in blocks if "id" in block]


async def test_events_resume_after_the_last_one_seen(here: Installation) -> None:
    job_id = await here.submit()
    await here.solve(job_id, "a = 1\n")
    whole = await here.client.get(f"/jobs/{job_id}/events")
    assert whole.headers["content-type"].startswith("text/event-stream")
    events = sent_events(whole.text)
    assert [seq for seq, _ in events] == list(range(1, len(events) + 1))
    assert events[-1][1] == "job.finished"
    rest = await here.client.get(f"/jobs/{job_id}/events", headers={"Last-Event-ID": "1"})
    assert sent_events(rest.text) == events[1:]
    over = await here.client.get(f"/jobs/{job_id}/events", headers={"Last-Event-ID": str(len(events))})
    assert over.status_code == 204
    assert_problem(await here.client.get(f"/jobs/{job_id}/events", headers={"Last-Event-ID": "x"}), 422)


async def test_a_follower_sees_each_event_once_even_when_the_log_repeats_or_skips(here: Installation) -> None:
    job_id = await here.submit()
    for _ in range(4):
        await here.events.append(job_id, EventKind.STEP_STARTED, {})
    stored = await here.events.read(job_id)

    class Unsteady(InMemoryEventLog):
        async def follow(self, job_id: str, after: int = 0):  # type: ignore[no-untyped-def]
            for index in (0, 0, 3, 1, 4):
                yield stored[index]

    log = Unsteady(here.database)
    seen = [event.seq async for event in gapless(log, job_id, 0)]
    assert seen == [1, 2, 3, 4, 5]


async def test_followers_are_released_when_the_server_stops(here: Installation) -> None:
    job_id = await here.submit()
    seen: list[int] = []

    async def follow() -> None:
        found = batches(gapless(here.events, job_id, 0), here.services.stopping)
        seen.extend([event.seq async for batch in found for event in batch])

    follower = asyncio.create_task(follow())
    await asyncio.sleep(0.01)
    here.services.stopping.set()
    await asyncio.wait_for(follower, 60)
    assert seen == [1]


async def test_me_names_what_a_job_may_ask_for(here: Installation) -> None:
    answer = (await here.client.get("/me")).json()
    assert answer["team"] == LOCAL_TEAM
    assert answer["models"] == ["playbook", "openai:<model>", "anthropic:<model>", "compatible:<model>"]


def test_the_committed_openapi_document_is_current() -> None:
    from web.openapi import document

    committed = Path(__file__).parents[3] / "docs" / "openapi.json"
    assert committed.read_text() == document(), "run: python -m web.openapi > docs/openapi.json"


def test_every_route_below_a_job_says_how_it_answers_for_a_deleted_one() -> None:
    from web.openapi import document

    below = {path: item for path, item in json.loads(document())["paths"].items() if "{job_id}" in path}
    assert below
    silent = [f"{verb} {path}" for path, item in below.items() for verb in item if "410" not in item[verb]["responses"]]
    assert silent == []


async def test_the_jobs_that_work_for_another_are_listed_below_it(here: Installation) -> None:
    parent, child = await here.submit(), await here.submit()
    here.database.jobs[child] = dataclasses.replace(here.database.jobs[child], parent_id=parent)
    found = (await here.client.get(f"/jobs/{parent}/children")).json()["items"]
    assert [(job["id"], job["parent_id"]) for job in found] == [(child, parent)]
    assert (await here.client.get(f"/jobs/{parent}")).json()["parent_id"] is None
    assert (await here.client.get("/jobs/job-nowhere/children")).status_code == 404
