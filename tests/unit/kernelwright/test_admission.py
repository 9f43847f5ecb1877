"""Who may join an installation as a worker, and under which name."""

from __future__ import annotations

import asyncio
import json
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from kernelwright.admission import acquire_slot, check_clock, check_version
from kernelwright.doctor import server
from kernelwright.settings import load_settings
from kernelwright.wiring.refusals import forget_refusal, refusal_listed
from kernelwright.wiring.workers import open_registry
from services.domain.errors import ConfigurationError
from services.domain.nodes import NodeRole, NodeState, ServiceNode
from storage.database import Database
from tests.doubles.builders import MOMENT


def orchestrator(version: str) -> ServiceNode:
    return ServiceNode(
        name=f"o-{version}",
        role=NodeRole.ORCHESTRATOR,
        version=version,
        state=NodeState.READY,
        started_at=MOMENT,
        seen_at=MOMENT,
    )


def test_two_workers_of_a_device_on_one_host_get_different_names_and_a_freed_one_is_given_again() -> None:
    device = f"test-{uuid.uuid4().hex[:8]}"
    first, second = acquire_slot(device, "here"), acquire_slot(device, "here")
    assert (first.name, second.name) == (f"kernelwright-{device}-1@here", f"kernelwright-{device}-2@here")
    first.socket.close()
    again = acquire_slot(device, "here")
    assert again.name == first.name
    for seat in (second, again):
        seat.socket.close()


def test_a_worker_of_another_version_is_refused_with_what_to_install() -> None:
    with pytest.raises(ConfigurationError, match=r"version 1\.0, and the installation's orchestrators are 1\.1"):
        check_version("1.0", [orchestrator("1.1")])


@pytest.mark.parametrize("there", [[], ["1.0"], ["1.0", "1.1"]])
def test_a_worker_is_let_in_where_no_orchestrator_runs_or_one_of_its_version_does(there: list[str]) -> None:
    check_version("1.0", [orchestrator(version) for version in there])


def test_a_wrong_clock_is_refused_with_how_wrong_it_is() -> None:
    check_clock(MOMENT + timedelta(seconds=4), MOMENT, "the broker's")
    with pytest.raises(ConfigurationError, match=r"61 s ahead of the broker's: set it"):
        check_clock(MOMENT + timedelta(seconds=61), MOMENT, "the broker's")
    with pytest.raises(ConfigurationError, match="behind the broker's"):
        check_clock(MOMENT - timedelta(seconds=61), MOMENT, "the broker's")


def test_orders_for_a_device_that_nobody_serves_are_a_finding() -> None:
    finding = server.unserved({"cpu": 2, "h200": 3}, {"cpu"})
    assert finding.state == "warning"
    assert "3 for h200" in finding.detail
    assert "worker --device h200" in str(finding.remedy)
    assert server.unserved({"cpu": 2}, {"cpu"}).state == "ok"


def test_a_server_that_does_not_answer_is_one_clear_finding() -> None:
    (finding,) = server.diagnose_remote("http://127.0.0.1:1", None, "1.0")
    assert (finding.name, finding.state) == ("server", "missing")
    assert "127.0.0.1:1" in finding.detail


def answer(path: str) -> tuple[int, Any]:
    worker = {"name": "kernelwright-cpu-1@here", "device": "cpu", "backends": ["cpp"], "isolation": None}
    known: dict[str, tuple[int, Any]] = {
        "/healthz": (200, {"status": "ok"}),
        "/readyz": (503, {"detail": "database x cannot be reached"}),
        "/api/v1/me": (200, {"team": "local", "version": "1.1"}),
        "/api/v1/workers": (200, {"items": [worker], "next_cursor": None}),
        "/metrics": (200, 'kernelwright_orders{device="h200",status="queued"} 4.0\n'),
    }
    return known[path]


def test_a_server_is_examined_from_afar() -> None:
    def respond(request: httpx.Request) -> httpx.Response:
        status, content = answer(request.url.path)
        if isinstance(content, str):
            return httpx.Response(status, text=content)
        return httpx.Response(status, json=content)

    transport = httpx.MockTransport(respond)
    findings = {found.name: found for found in server.diagnose_remote("http://there", None, "1.0", transport)}
    assert {name: found.state for name, found in findings.items()} == {
        "server": "ok",
        "clock": "warning",
        "database": "missing",
        "access": "ok",
        "workers": "ok",
        "queues": "warning",
        "version": "warning",
    }
    assert "1.0 here, 1.1 there" in findings["version"].detail
    assert "cannot be reached" in findings["database"].detail


def test_a_refused_worker_is_a_finding_with_its_reason_and_serves_nothing() -> None:
    node = {"state": "refused", "fault": "there is no card 2: name a card by its index or UUID"}
    worker: dict[str, Any] = {
        "name": "kernelwright-h200-1@there",
        "device": "h200",
        "backends": [],
        "isolation": None,
        "node": node,
    }

    def respond(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/api/v1/workers":
            return httpx.Response(200, json={"items": [worker], "next_cursor": None})
        status, content = answer(request.url.path)
        return httpx.Response(status, text=content if isinstance(content, str) else json.dumps(content))

    transport = httpx.MockTransport(respond)
    findings = {found.name: found for found in server.diagnose_remote("http://there", None, "1.0", transport)}
    assert findings["workers"].state == "warning"
    assert "kernelwright-h200-1@there: there is no card 2" in findings["workers"].detail
    assert "4 for h200" in findings["queues"].detail


def test_what_keeps_a_worker_from_beginning_is_in_the_database_until_it_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNELWRIGHT_HOME", str(tmp_path))
    settings, device = load_settings(), f"test-{uuid.uuid4().hex[:8]}"

    async def listed() -> list[tuple[str | None, str | None]]:
        async with open_registry(settings) as registry:
            return [(node.device, node.fault) for node in await registry.living()]

    database = Database(settings.database)
    asyncio.run(migrated(database))
    with pytest.raises(ConfigurationError, match="no card"), refusal_listed(settings, device):
        raise ConfigurationError("there is no card 2:\nname another")
    assert asyncio.run(listed()) == [(device, "there is no card 2: name another")]
    forget_refusal(settings, device)
    assert asyncio.run(listed()) == []


async def migrated(database: Database) -> None:
    await database.upgrade()
    await database.close()


def test_a_reason_that_cannot_be_listed_is_raised_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("KERNELWRIGHT_HOME", str(tmp_path))
    monkeypatch.setenv("KERNELWRIGHT_TOKEN", "kw_0_0")
    with pytest.raises(ConfigurationError, match="no card"), refusal_listed(load_settings(), "x", "http://127.0.0.1:9"):
        raise ConfigurationError("no card")
    assert "do not learn" in caplog.text
