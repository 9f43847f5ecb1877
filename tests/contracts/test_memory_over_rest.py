"""The memory's part of the REST API and of the command line, over a real store."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
import pytest_asyncio

from kernelwright import cli
from services.domain.candidates import candidate_id
from services.jobs.catalogue import Catalogue
from services.jobs.service import JobService
from storage.database import Database
from storage.jobs.candidates import SqlCandidateStore
from storage.jobs.events import SqlEventLog
from tests.contracts.test_memory_exchange import MemoryStores
from tests.contracts.value_writer import SHARED, a_record, opened_job, some_records
from tests.doubles import an_experience
from tests.web_services import web_services
from web.app import create_app


class Server:
    def __init__(self, database: Database, runtime: Path) -> None:
        self.stores = MemoryStores(database)
        candidates = SqlCandidateStore(database, self.stores.clock)
        known = Catalogue(
            backends=("cpp",), devices=("cpu",), strategies=("value_driven",), models=("playbook",), resolve_model=str
        )
        jobs = JobService(self.stores.jobs, candidates, known, self.stores.clock)
        events = SqlEventLog(database, self.stores.clock)
        services = web_services(self.stores.clock, jobs, runtime, events=events, experiences=self.stores.service)
        transport = httpx.ASGITransport(create_app(services), raise_app_exceptions=False)
        self.client = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000/api/v1")


@pytest_asyncio.fixture
async def server(sqlite_address: str, tmp_path: Path) -> AsyncIterator[Server]:
    database = Database(sqlite_address)
    opened = Server(database, tmp_path / "kernelwright_rt.py")
    async with opened.client:
        yield opened
    await database.close()


async def test_experiences_are_listed_searched_and_shown_with_their_values(server: Server) -> None:
    await server.stores.learn()
    page = (await server.client.get("/experiences", params={"limit": 5, "kind": "trace"})).json()
    assert len(page["items"]) == 5
    assert page["next_cursor"]
    assert {item["kind"] for item in page["items"]} == {"trace"}
    asked: dict[str, str | int] = {"q": f"advice {SHARED[4]}", "limit": 3}
    found = (await server.client.get("/experiences/search", params=asked)).json()["items"]
    assert found[0]["experience"]["id"] == SHARED[4]
    shown = (await server.client.get(f"/experiences/{SHARED[4]}")).json()
    assert shown["history"]
    assert shown["uses"]
    assert -1 <= shown["worth"][0]["value"] <= 1


async def test_provenance_is_served_as_a_graph_whose_arrows_have_both_ends(server: Server) -> None:
    await server.stores.learn()
    found = (await server.client.get(f"/experiences/{SHARED[4]}/provenance")).json()
    layers = {node["id"]: node["layer"] for node in found["nodes"]}
    assert layers[SHARED[4]] == 0
    assert {node["kind"] for node in found["nodes"]} == {"experience", "candidate", "job"}
    assert found["edges"]
    # A job stands before the first candidate of its own that was met; it may have made later ones too.
    assert all(layers[edge["source"]] < layers[edge["target"]] for edge in found["edges"] if edge["kind"] != "used")
    shown = (await server.client.get(f"/experiences/{SHARED[4]}")).json()
    made = {use["candidate_id"] for use in shown["uses"]}
    assert {node["id"] for node in found["nodes"] if node["layer"] == 1} <= made


async def test_a_candidate_is_retracted_by_one_call_and_leaves_an_audit_line(server: Server) -> None:
    await server.stores.learn()
    cheat = next(record for record in some_records("job-1", 20, 3) if record.experiences)
    subject = candidate_id("job-1", cheat.step.index)
    answer = await server.client.post(f"/experiences/{subject}/retract", json={"reason": "it cheats", "actor": "ada"})
    assert answer.status_code == 200
    (gone,) = answer.json()["experiences"]
    assert (await server.client.get(f"/experiences/{gone}")).json()["retracted"] is True
    audit = (await server.client.get("/experiences/audit")).json()["items"]
    assert [(line["action"], line["subject"], line["actor"]) for line in audit] == [("retract", subject, "ada")]


async def test_what_one_server_exports_another_imports(server: Server) -> None:
    await server.stores.learn()
    exported = await server.client.get("/experiences/export")
    assert exported.headers["content-type"].startswith("application/x-ndjson")
    lines = exported.text.splitlines()
    assert json.loads(lines[0])["format"] == "kernelwright-memory"
    assert (await server.client.post("/experiences/import", content=exported.content)).json() == {"imported": 0}
    bad = await server.client.post("/experiences/import", content="\n".join([lines[0], lines[1], "{", "[]"]))
    assert (bad.status_code, bad.headers["content-type"]) == (422, "application/problem+json")
    assert [fault["line"] for fault in bad.json()["errors"]] == [3, 4]


async def test_the_effect_is_served_with_its_intervals(server: Server) -> None:
    await server.stores.learn()
    effect = (await server.client.get("/experiences/effect")).json()
    assert effect["steps_with"] == 20
    assert effect["success_difference"] == {"estimate": None, "low": None, "high": None}


async def test_the_effect_is_served_for_each_backend(server: Server) -> None:
    lease = await opened_job(server.stores.jobs, "job-1")
    for index, backend in enumerate(("cpp", "cpp", "triton")):
        record = a_record("job-1", index)
        assert record.lesson is not None
        await server.stores.jobs.record_step(lease, replace(record, lesson=replace(record.lesson, backend=backend)))
    assert (await server.client.get("/experiences/effect")).json()["steps_with"] == 3
    one = (await server.client.get("/experiences/effect", params={"backend": "cpp"})).json()
    assert one["steps_with"] == 2
    each = (await server.client.get("/experiences/effects")).json()
    assert {backend: effect["steps_with"] for backend, effect in each.items()} == {"cpp": 2, "triton": 1}


async def test_what_jobs_taught_is_served_with_its_worth_and_what_became_of_it(server: Server) -> None:
    taught = replace(an_experience("exp-1", text="Applies when: rows are long"), title="Share rows", job_id="job-0")
    await server.stores.memory.remember([taught, an_experience("exp-hand", text="by hand")])
    assert [one["verdict"] for one in (await server.client.get("/experiences/practices")).json()["items"]] == ["open"]

    await server.stores.records.forget("local", ["exp-1"], "refuted", "housekeeping")

    (one,) = (await server.client.get("/experiences/practices")).json()["items"]
    assert (one["id"], one["statement"], one["state"], one["job_id"]) == ("exp-1", "Share rows", "forgotten", "job-0")
    assert (one["standing"]["uses"], one["merged_into"]) == (0, None)
    assert one["standing"]["low"] < -1.9 < 1.9 < one["standing"]["high"]


async def test_sharing_is_granted_listed_and_taken_back(server: Server) -> None:
    await server.stores.memory.remember([an_experience("exp-theirs", team_id="theirs"), an_experience("exp-ours")])
    assert (await server.client.put("/experiences/shares/theirs")).status_code == 204
    assert (await server.client.put("/experiences/shares/theirs")).status_code == 204
    (share,) = (await server.client.get("/experiences/shares")).json()["items"]
    assert (share["team_id"], share["reader"], share["granted_by"]) == ("local", "theirs", "api")
    found = await server.stores.service.search("theirs", "vectorise")
    assert {item.experience.id for item in found} == {"exp-ours", "exp-theirs"}
    assert (await server.client.delete("/experiences/shares/theirs")).status_code == 204
    assert (await server.client.get("/experiences/shares")).json()["items"] == []
    assert [item.experience.id for item in await server.stores.service.search("theirs", "x")] == ["exp-theirs"]


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/exp-nowhere", None, 404),
        ("GET", "/exp-nowhere/provenance", None, 404),
        ("POST", "/exp-nowhere/retract", {"reason": "none"}, 404),
        ("POST", "/exp-nowhere/retract", {"reason": ""}, 422),
        ("PUT", "/shares/nobody", None, 404),
        ("PUT", "/shares/local", None, 422),
        ("GET", "?cursor=nonsense", None, 422),
        ("GET", "?kind=nonsense", None, 422),
    ],
)
async def test_wrong_requests_get_problem_documents(
    server: Server, method: str, path: str, body: dict[str, str] | None, status: int
) -> None:
    answer = await server.client.request(method, f"/experiences{path}", json=body)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"


def test_the_command_line_lists_shows_exports_and_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KERNELWRIGHT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("KERNELWRIGHT_EMBEDDER", "hashing")

    def run(*arguments: str) -> str:
        assert cli.execute(["memory", *arguments]) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    items = json.loads(run("list", "--kind", "best_practice", "--json"))["items"]
    name = items[0]["experience"]["id"]
    assert items[0]["experience"]["title"] in run("show", name)
    assert name in run("search", items[0]["experience"]["title"], "--limit", "3")
    assert "held out 0" in run("effect")
    file = tmp_path / "memory.jsonl"
    run("export", "--out", str(file))
    assert "Imported 0 new experiences" in run("import", str(file))
    assert name in run("retract", name, "--reason", "out of date")
    assert "out of date" in run("audit")
    file.write_text(file.read_text() + "{\n")
    assert cli.execute(["memory", "import", str(file)]) == 1
    assert "not JSON" in capsys.readouterr().err
    assert cli.execute(["memory", "show", "exp-nowhere"]) == 2
