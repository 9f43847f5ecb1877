"""Device nodes that reach the API and nothing else: real processes, with neither database nor broker at hand."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest
import redis

from tests.e2e.programs import CANDIDATES, ROOT, environment, give_a_sheet
from tests.faults.ground import UnavailableError
from tests.faults.installation import Installation, Part
from tests.faults.rows import ground
from tests.waiting import until

pytestmark = pytest.mark.integration


@pytest.fixture
def place() -> Iterator[Installation]:
    try:
        with ground() as installation:
            yield installation
    except UnavailableError as error:
        pytest.skip(str(error))


def node_token(place: Installation, devices: str = "cpu") -> str:
    """A token as an operator makes it."""
    made = subprocess.run(
        [sys.executable, "-m", "kernelwright", "token", "create", "rack-1", "--node", devices],
        cwd=ROOT,
        env=environment(place.folder / "home", **place.settings),
        capture_output=True,
        text=True,
        check=True,
    )
    return made.stdout.strip()


def test_jobs_are_done_by_a_node_that_dies_and_by_an_api_that_goes_away(place: Installation) -> None:
    place.orchestrator(KERNELWRIGHT_LEASE_S="15")
    token = node_token(place)
    node = place.node(token)
    jobs = place.submit(2)
    place.wait(jobs)
    place.check(jobs)
    assert place.client is not None
    (worker,) = place.client.get("/workers").json()["items"]
    assert worker["name"].endswith(f"({token.split('_')[1]})")

    started = time.time()
    jobs = place.submit(2)
    place.in_phase("correctness", started)
    node.kill()
    node = place.node(token)
    place.wait(jobs)
    place.check(jobs)

    started = time.time()
    jobs = place.submit(2)
    place.in_phase("compile", started)
    api = next(part for part in place.parts if part.alive)
    api.kill()
    place.api(urlsplit(place.root).port)
    place.wait(jobs)
    place.check(jobs)
    assert max(place.judged(jobs).values()) == 1, "the answer was kept until the API was back"

    with redis.Redis.from_url(place.redis.url) as broker:
        messages = broker.llen("device.cpu")
    assert messages <= 200, f"{messages} wake-ups lie in a queue that nobody empties"
    assert node.stop() == 0
    assert place.client.get("/workers").json()["items"] == []


@pytest.mark.full
def test_a_node_that_is_refused_says_why(place: Installation) -> None:
    token = node_token(place, "h200")
    for settings, words in (
        ({"KERNELWRIGHT_TOKEN": token}, "this token is for h200, not for the device 'cpu'"),
        ({"KERNELWRIGHT_TOKEN": token[:-1] + ("a" if token[-1] != "a" else "b")}, "Invalid or revoked token"),
        ({}, "--server needs a node's token"),
    ):
        ended = subprocess.run(
            [sys.executable, "-m", "kernelwright", "worker", "--server", place.root, "--device", "cpu"],
            cwd=ROOT,
            env=environment(place.folder / "node", **settings),
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 2
        assert words in re.sub(r"\s+", " ", ended.stderr)
    assert place.client is not None
    (listed,) = place.client.get("/workers").json()["items"]  # a token that nobody knows is nobody's node
    assert (listed["node"]["state"], listed["node"]["device"]) == ("refused", "cpu")
    assert listed["node"]["fault"] == "this token is for h200, not for the device 'cpu'"
    node = place.node(node_token(place))
    client = place.client
    until(lambda: client.get("/workers").json()["items"][0]["node"]["state"] == "ready", "its start")
    (listed,) = place.client.get("/workers").json()["items"]
    assert listed["node"]["fault"] is None
    assert node.stop() == 0


def test_a_real_worker_judges_a_kernel_for_a_server(place: Installation) -> None:
    place.orchestrator(KERNELWRIGHT_LEASE_S="30")
    home = place.folder / "node"
    give_a_sheet(home)
    settings = {"KERNELWRIGHT_TOKEN": node_token(place)}
    command = ["kernelwright", "worker", "--server", place.root, "--device", "cpu"]
    node = Part(command, home, settings, place.output)
    place.parts.append(node)
    with httpx.Client(base_url=f"{place.root}/api/v1", timeout=40) as client:
        until(lambda: client.get("/workers").json()["items"], "the node's registration")
        body = {
            "problem": {"source": (CANDIDATES / "problems" / "silu_scale.txt").read_text(), "name": "silu"},
            "candidate": (CANDIDATES / "honest" / "silu_openmp.txt").read_text(),
            "baselines": ["eager"],
        }
        made = client.post("/evaluations", json=body).raise_for_status().json()
        address = f"/evaluations/{made['id']}"
        until(lambda: client.get(address).json()["report"], "the report")
        report = client.get(address).json()["report"]
        assert report["verdict"] == "accepted", report["gates"]
    assert node.stop() == 0
