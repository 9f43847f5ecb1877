"""The dashboard and the alerts over a real Prometheus that scrapes real processes."""

from __future__ import annotations

import asyncio
import functools
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from services.domain.work import order_of
from services.runtime.clock import SystemClock
from storage.database import Database
from storage.jobs.work_orders import SqlWorkStore
from tests.doubles import a_candidate, an_evaluation_request
from tests.faults.ground import UnavailableError
from tests.faults.installation import Installation
from tests.faults.rows import ground
from tests.integration.test_alerts import DASHBOARD, RULES
from tests.ports import a_free_port
from tests.waiting import until

pytestmark = pytest.mark.integration
START_S = 60.0
FILL_S = 60.0


@contextmanager
def prometheus(folder: Path, *targets: str) -> Iterator[httpx.Client]:
    """A Prometheus with our rules that scrapes addresses every second: a client of its API."""
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("no Prometheus: apt-get install prometheus")
    shutil.copy(RULES, folder)
    settings = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [RULES.name],
        "scrape_configs": [{"job_name": "kernelwright", "static_configs": [{"targets": list(targets)}]}],
    }
    (folder / "prometheus.yml").write_text(json.dumps(settings))  # JSON is YAML
    port = a_free_port()
    command = [program, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    command.append(f"--web.listen-address=127.0.0.1:{port}")
    with (folder / "prometheus.txt").open("wb") as output:
        server = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=20) as client:
            until(lambda: _ready(client), "Prometheus's start")
            yield client
    finally:
        server.terminate()
        server.wait(20)


def _ready(client: httpx.Client) -> bool:
    try:
        return client.get("/-/ready").status_code == 200
    except httpx.TransportError:
        return False


def ask(client: httpx.Client, query: str) -> list[dict[str, Any]]:
    """What a query gives at this moment."""
    answer = client.get("/api/v1/query", params={"query": query}).raise_for_status().json()
    found: list[dict[str, Any]] = answer["data"]["result"]
    return found


def working(place: Installation) -> int:
    """Real parts at work, and an order that no worker takes; the port of the orchestrator's metrics."""
    place.api()
    port = a_free_port()
    place.orchestrator(KERNELWRIGHT_METRICS_PORT=str(port))
    place.worker(FAULT_REJECTS="1")
    place.wait(place.submit())  # memory's effect is computed once in five minutes: it needs a job that has ended
    asyncio.run(order_for_an_h200(place.postgres.url))
    return port


async def order_for_an_h200(address: str) -> None:
    """As an orchestrator leaves it where the device's last worker has gone."""
    database = Database(address)
    request = replace(an_evaluation_request(a_candidate()), device="h200")
    await SqlWorkStore(database, SystemClock()).place(order_of(request))
    await database.close()


def test_every_panel_is_filled_and_every_alert_is_evaluated(tmp_path: Path) -> None:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    queries = {(panel["title"], target["expr"]) for panel in panels for target in panel["targets"]}
    try:
        with ground() as place:
            metrics = f"127.0.0.1:{working(place)}"
            with prometheus(tmp_path, place.root.removeprefix("http://"), metrics) as client:
                until(lambda: ask(client, "kernelwright_jobs_ended_total"), "the first scrape")
                place.wait(place.submit(2))
                empty, deadline = queries, time.monotonic() + FILL_S
                while empty and time.monotonic() < deadline:
                    empty = {(title, query) for title, query in queries if not ask(client, query)}
                    time.sleep(0.5)
                assert empty == set()
                check_figures(client)
                check_alerts(client)
    except UnavailableError as error:
        pytest.skip(str(error))


def check_figures(client: httpx.Client) -> None:
    """Some of what the panels show is known, a scrape or two later."""
    for query, known in (
        ('kernelwright_orders{device="h200",status="queued"} == 1', "the waiting order"),
        ("sum(kernelwright_jobs_ended_total) == 3", "the end of three jobs"),
        ("sum(rate(kernelwright_candidates_total[5m])) > 0", "a rate of candidates"),
    ):
        until(functools.partial(ask, client, query), known)


def check_alerts(client: httpx.Client) -> None:
    """Prometheus took every rule; an order without a worker is on its way to an alert, and nothing else is."""
    until(lambda: ask(client, 'ALERTS{alertname="KernelwrightNoWorker",device="h200"}'), "the alert")
    (group,) = client.get("/api/v1/rules").raise_for_status().json()["data"]["groups"]
    assert {rule["name"]: rule["health"] for rule in group["rules"]} == dict.fromkeys(
        (
            "KernelwrightQueueAge",
            "KernelwrightNoWorker",
            "KernelwrightFailedShare",
            "KernelwrightLeasesLost",
            "KernelwrightSlowRequests",
        ),
        "ok",
    )
    raised = {alert["labels"]["alertname"] for alert in client.get("/api/v1/alerts").json()["data"]["alerts"]}
    assert "KernelwrightNoWorker" in raised
    assert raised <= {"KernelwrightNoWorker", "KernelwrightSlowRequests"}  # requests are slow on a busy machine
