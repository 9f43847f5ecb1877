"""The deployment of the compose file solves a job, without the Docker socket."""

from __future__ import annotations

import time
from pathlib import Path

import httpx
import pytest

from tests.compose_host import Deployment, deployed
from tests.e2e.programs import SMALL

pytestmark = pytest.mark.integration

FINAL = ("solved", "no_gain", "unsolved", "refused", "failed", "cancelled")


@pytest.mark.timeout(900)
def test_the_deployment_solves_a_job_in_namespaces_of_its_workers(tmp_path: Path) -> None:
    with deployed(tmp_path) as deployment:
        check(deployment, job_timeout_s=420)


@pytest.mark.compose
@pytest.mark.timeout(3600)
def test_the_images_that_the_dockerfiles_make_do_too(tmp_path: Path) -> None:
    with deployed(tmp_path, built=True) as deployment:
        check(deployment, job_timeout_s=600)


def check(deployment: Deployment, job_timeout_s: float) -> None:
    headers = {"Authorization": f"Bearer {deployment.token}"}
    with httpx.Client(base_url=deployment.address, headers=headers, timeout=30) as client:
        wait(lambda: answers(client) == 200, 120, "the API", deployment)
        assert httpx.get(f"{deployment.address}/me").status_code == 401
        workers = "workers of both kinds"
        wait(lambda: {"cpu", "compile"} <= {one["device"] for one in nodes(client)}, 180, workers, deployment)
        body = {
            "problem": {"source": SMALL, "name": "scaled_silu"},
            "backend": "cpp",
            "baselines": ["eager"],
            "budget": {"rounds": 1},
        }
        job = client.post("/jobs", json=body).raise_for_status().json()["id"]
        wait(lambda: status(client, job) in FINAL, job_timeout_s, "the job's end", deployment)
        assert status(client, job) in ("solved", "no_gain"), client.get(f"/jobs/{job}").text
        best = client.get(f"/jobs/{job}/best").raise_for_status().json()
        assert best["report"]["verdict"] == "accepted"
        assert best["report"]["environment"]["isolation"] == "namespaces"


def answers(client: httpx.Client) -> int:
    try:
        return client.get("/me").status_code
    except httpx.TransportError:
        return 0


def nodes(client: httpx.Client) -> list[dict[str, object]]:
    found: list[dict[str, object]] = client.get("/nodes").raise_for_status().json()["items"]
    return found


def status(client: httpx.Client, job: str) -> str:
    return str(client.get(f"/jobs/{job}").raise_for_status().json()["status"])


def wait(condition: object, timeout_s: float, what: str, deployment: Deployment) -> None:
    assert callable(condition)
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            said = deployment.compose("logs", "--tail", "25").stdout[-8000:]
            raise AssertionError(f"{what}: not within {timeout_s:.0f} s\n{deployment.compose('ps').stdout}\n{said}")
        time.sleep(0.5)
