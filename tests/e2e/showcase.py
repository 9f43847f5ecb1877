"""An installation as it looks after a working day: jobs of every outcome, a suite run twice, memory, a webhook."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.e2e.browsing import Service, serving
from tests.e2e.programs import EXAMPLES, ROOT, run, running
from tests.fakes.identity_provider import CLIENT, SECRET, identity_provider
from tests.ports import a_free_port
from tests.waiting import until

KEPT = "showcase.json"
"""File of the home that lists the jobs, so that pictures can be taken again without solving anything again."""
LIMIT_S = 2400
DEAD_END = "http://127.0.0.1:9/hooks/kernelwright"
"""Nobody listens on the discard port: every delivery fails and is listed as failed."""

CONSTANT = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return (x - x.mean(dim=1, keepdim=True)).mean(dim=1, keepdim=True) * 0


def get_inputs():
    return [torch.randn(64, 256)]


def get_init_inputs():
    return []
"""
"""A problem that validation refuses: its output does not depend on its input."""

ENDING: dict[str, dict[str, Any]] = {
    "job": {"problem": "rmsnorm", "budget": {"rounds": 6}, "tags": ["nightly", "run 1"]},
    "again": {"problem": "rmsnorm", "budget": {"rounds": 3}, "tags": ["nightly", "run 2"], "seed": 7},
    "suite_1": {"problem": "layernorm_silu", "budget": {"rounds": 4}, "tags": ["nightly", "run 1"]},
    "suite_2": {"problem": "layernorm_silu", "budget": {"rounds": 3}, "tags": ["nightly", "run 2"]},
    "no_gain": {"problem": "swiglu", "budget": {"rounds": 2}, "tags": ["nightly", "run 1"]},
    "islands": {"problem": "masked_softmax", "budget": {"rounds": 9}, "strategy": "islands"},
    "archive": {"problem": "huber_loss", "budget": {"rounds": 6}, "strategy": "map_elites"},
    "chat": {"problem": "pointwise_chain", "budget": {"rounds": 4}, "model": "compatible:by-hand"},
    "learned": {"problem": "cross_entropy", "budget": {"rounds": 4}, "strategy": "value_driven", "beam": 2},
    "refused": {"problem": "constant", "budget": {"rounds": 4}},
}
"""Jobs that end by themselves, by the name that pictures know them by."""


def _problem(name: str) -> dict[str, str]:
    source = CONSTANT if name == "constant" else (EXAMPLES / f"{name}.py").read_text()
    return {"name": name, "source": source, "path": f"{name}.py"}


def _submit(service: Service, name: str, *, problem: str, **fields: Any) -> str:
    """The job of a name; the one there is where somebody began before and did not get to the end."""
    body = {"baselines": ["eager", "compile"], **fields, "problem": _problem(problem)}
    answer = httpx.post(f"{service.address}/api/v1/jobs", json=body, headers={"Idempotency-Key": name}, timeout=30)
    assert answer.is_success, answer.text
    return str(answer.json()["id"])


def _seed(service: Service) -> dict[str, str]:
    """Solve everything, and leave one job waiting for a person, one paused and one cancelled."""
    if not service.items("/webhooks"):
        service.post("/webhooks", url=DEAD_END, kinds=["job.finished"])
    jobs = {name: _submit(service, name, **fields) for name, fields in ENDING.items()}
    for job_id in jobs.values():
        service.ended(job_id, LIMIT_S)
    for name in ("cancelled", "paused"):
        jobs[name] = _submit(service, name, problem="row_variance", budget={"rounds": 40}, strategy="tree")
        _stop(service, jobs[name], name)
    jobs["waiting"] = _submit(service, "waiting", problem="cumulative_sum", model="manual", budget={"rounds": 4})
    until(lambda: service.get(f"/jobs/{jobs['waiting']}")["status"] == "running", limit_s=LIMIT_S)
    return jobs


def _stop(service: Service, job_id: str, status: str) -> None:
    """Cancel or pause a job once it has candidates to show."""
    until(lambda: service.get(f"/jobs/{job_id}")["steps_done"] >= 2, limit_s=LIMIT_S)
    if service.get(f"/jobs/{job_id}")["status"] != status:
        service.post(f"/jobs/{job_id}/{'cancel' if status == 'cancelled' else 'pause'}")
    until(lambda: service.get(f"/jobs/{job_id}")["status"] == status, limit_s=LIMIT_S)


@contextmanager
def _a_model_server() -> Iterator[str]:
    program = subprocess.Popen(
        [sys.executable, str(ROOT / "examples" / "model_server" / "server.py"), "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert program.stdout is not None
    try:
        yield program.stdout.readline().strip()
    finally:
        program.terminate()
        program.wait(10)
        program.stdout.close()


@contextmanager
def showcase(home: Path) -> Iterator[tuple[Service, dict[str, str]]]:
    """The installation under `home` and its jobs by name; solved first where nobody has."""
    home.mkdir(parents=True, exist_ok=True)
    kept = home / KEPT
    with (
        _a_model_server() as models,
        serving(
            home,
            measured=True,
            KERNELWRIGHT_COMPATIBLE_BASE_URL=models,
            KERNELWRIGHT_WEBHOOK_PRIVATE_HOSTS="true",
            KERNELWRIGHT_COMPILER_DRAFT="true",
        ) as service,
    ):
        if not kept.is_file():
            kept.write_text(json.dumps(_seed(service), indent=2))
        yield service, json.loads(kept.read_text())


@contextmanager
def a_team(home: Path) -> Iterator[str]:
    """Address of an API with a team, an admin, a viewer and a quota, whose people sign in at a provider of its own."""
    port = a_free_port()
    for arguments in (
        ("team", "create", "kernels"),
        ("user", "add", "ada@x", "--team", "kernels", "--role", "admin"),
        ("user", "add", "bob@x", "--team", "kernels", "--role", "viewer"),
        ("team", "quota", "kernels", "jobs=1/day", "dollars=50/month"),
    ):
        done = run(*arguments, home=home)
        assert done.returncode == 0, done.stderr
    with identity_provider() as provider:
        settings = {
            "KERNELWRIGHT_OIDC_ISSUER": provider.address,
            "KERNELWRIGHT_OIDC_CLIENT_ID": CLIENT,
            "KERNELWRIGHT_OIDC_CLIENT_SECRET": SECRET,
            "KERNELWRIGHT_OIDC_NAME": "Example ID",
        }
        with running("api", "--port", str(port), home=home, **settings) as program:
            program.wait_for(rf"http://127\.0\.0\.1:{port} ")
            yield f"http://127.0.0.1:{port}"
