"""Clients that are generated from `docs/openapi.json` import, compile, and list the jobs of a live server."""

from __future__ import annotations

import ast
import asyncio
import importlib
import json
import pkgutil
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import uvicorn

from services.jobs.service import JobService
from tests.doubles import FrozenClock, InMemoryCandidateStore, InMemoryDatabase, InMemoryJobStore, a_job
from tests.unit.web.test_app import CATALOGUE
from tests.web_services import web_services
from web.app import create_app

ROOT = Path(__file__).parents[2]
CLIENTS = ROOT / "build" / "clients"
TOOLS = ROOT / "web" / "ui" / "node_modules" / ".bin"
TOKEN = "token-of-this-test"
IDS = {"job-1", "job-2"}


@dataclass(frozen=True, kw_only=True)
class LiveServer:
    """The API on a port of its own, with two jobs."""

    address: str


@contextmanager
def serving(runtime: Path) -> Iterator[LiveServer]:
    database = InMemoryDatabase(clock=FrozenClock())
    jobs = InMemoryJobStore(database)
    for name in sorted(IDS):
        asyncio.run(jobs.create(a_job(name)))
    service = JobService(jobs, InMemoryCandidateStore(database), CATALOGUE, database.clock)
    app = create_app(web_services(database.clock, service, runtime, events=None, token=TOKEN))
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield LiveServer(address=f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}")
    finally:
        server.should_exit = True
        thread.join(30)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    with serving(tmp_path / "kernelwright_rt.py") as one:
        yield one


@pytest.fixture
def python_client(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The package's name, while it can be imported."""
    if not (CLIENTS / "python" / "kernelwright_client").is_dir():
        pytest.skip("the Python client is not generated: make clients")
    monkeypatch.syspath_prepend(str(CLIENTS / "python"))
    yield "kernelwright_client"
    for name in [name for name in sys.modules if name.partition(".")[0] == "kernelwright_client"]:
        del sys.modules[name]


def test_every_module_of_the_python_client_imports(python_client: str) -> None:
    package = importlib.import_module(python_client)
    names = [found.name for found in pkgutil.walk_packages(package.__path__, f"{python_client}.")]
    for name in names:
        importlib.import_module(name)
    assert f"{python_client}.api.jobs.list_jobs" in names
    assert f"{python_client}.models.output_error" in names


def test_the_python_client_lists_the_jobs_of_a_live_server(python_client: str, server: LiveServer) -> None:
    package = importlib.import_module(python_client)
    list_jobs = importlib.import_module(f"{python_client}.api.jobs.list_jobs")
    get_job = importlib.import_module(f"{python_client}.api.jobs.get_job")
    with package.AuthenticatedClient(base_url=server.address, token=TOKEN) as client:
        first = list_jobs.sync(client=client, limit=1)
        second = list_jobs.sync(client=client, limit=1, cursor=first.next_cursor)
        assert {job.id for job in [*first.items, *second.items]} == IDS
        assert first.items[0].status.value == "queued"
        assert second.next_cursor is None
        missing = get_job.sync(client=client, job_id="job-nowhere")
        assert missing.status == 404


def test_the_documented_use_of_the_python_client_works(
    python_client: str, server: LiveServer, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (ROOT / "docs" / "client.md").read_text()
    (script,) = [part for part in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if python_client in part]
    exec(script.replace("http://127.0.0.1:8000", server.address).replace('"…"', repr(TOKEN)), {})
    assert set(ast.literal_eval(capsys.readouterr().out)) == IDS


def test_the_typescript_client_compiles_and_lists_the_jobs_of_a_live_server(server: LiveServer, tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None or not (TOOLS / "esbuild").exists():
        pytest.skip("Node.js or the web UI's packages are missing: install Node.js 20.19 or newer and run make web")
    if not (CLIENTS / "typescript" / "index.ts").is_file():
        pytest.skip("the TypeScript client is not generated: make clients")
    here, program = Path(__file__).parent, tmp_path / "list_jobs.mjs"
    _run(str(TOOLS / "tsc"), "--project", str(here / "clients.tsconfig.json"))
    bundled = ("--bundle", "--platform=node", "--format=esm", f"--outfile={program}", "--log-level=error")
    _run(str(TOOLS / "esbuild"), str(here / "list_jobs.ts"), *bundled)
    found = json.loads(_run(node, str(program), server.address, TOKEN))
    assert set(found.pop("ids")) == IDS
    assert found == {"status": "queued", "last": None, "missing": 404}


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
