"""The same job over HTTP: a server with everything inside, and its clients, each a process of its own."""

from __future__ import annotations

import ast
import json
import re
import signal
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.programs import CANDIDATES, SMALL, WELL, Program, check_export, run, running
from tests.integrity.test_candidates import declared
from tests.ports import a_free_port
from tests.selection import with_full
from tests.waiting import LIMIT_S

pytestmark = pytest.mark.e2e


@dataclass(frozen=True, kw_only=True)
class Server:
    """`kernelwright serve` with a problem to submit."""

    home: Path
    address: str
    program: Program
    problem: Path

    def command(self, *arguments: str | Path) -> tuple[int, str, str]:
        done = run(*arguments, "--server", self.address, home=self.home)
        return done.returncode, done.stdout, done.stderr

    def judged(self, problem: str, candidate: str) -> dict[str, Any]:
        """The report on a candidate, by `POST /evaluations`."""
        body = {"problem": {"name": "p", "source": problem}, "candidate": candidate, "baselines": ["eager"]}
        with httpx.Client(base_url=f"{self.address}/api/v1", timeout=30) as client:
            answer = client.post("/evaluations", json=body)
            assert answer.status_code in (201, 202), answer.text
            job_id = answer.json()["id"]
            code, _, told = self.command("watch", job_id)
            found = client.get(f"/evaluations/{job_id}").json()
        assert code == (0 if found["report"]["verdict"] == "accepted" else 1), told
        report: dict[str, Any] = found["report"]
        return report


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home, port = tmp_path_factory.mktemp("home"), a_free_port()
    problem = home / "scaled_silu.py"
    problem.write_text(SMALL)
    with running("serve", "--port", str(port), home=home, KERNELWRIGHT_EVALUATION_TIMEOUT_S="25") as program:
        program.wait_for(rf"http://127\.0\.0\.1:{port} ")
        yield Server(home=home, address=f"http://127.0.0.1:{port}", program=program, problem=problem)
        assert program.stop(signal.SIGTERM) in (0, -signal.SIGTERM)


def test_submit_watch_best_and_bundle_do_the_job_of_run(server: Server, tmp_path: Path) -> None:
    code, printed, _ = server.command("submit", server.problem, "--rounds", "2")
    job_id = printed.strip()
    assert code == 0
    code, printed, told = server.command("watch", job_id, "--json")
    document = json.loads(printed)
    assert code == WELL.index(document["status"])
    assert document["rounds"] == 2
    for words in ("validated", "round 1", "round 2", "referee", "all 2 rounds are used"):
        assert words in told
    code, source, _ = server.command("best", job_id)
    assert code == 0
    assert "ModelNew" in {node.name for node in ast.parse(source).body if isinstance(node, ast.ClassDef)}
    archive = tmp_path / "all.zip"
    assert server.command("bundle", job_id, "--out", archive)[0] == 0
    with zipfile.ZipFile(archive) as opened:
        names = {name.partition("/")[2] for name in opened.namelist()}
        assert names >= {"kernel.py", "kernelwright_rt.py", "report.json", "trajectory.jsonl", "test_kernel.py"}
        check_export(opened.read(f"{job_id}/kernel.py").decode(), source)
    listed = json.loads(server.command("jobs", "--json")[1])["items"]
    assert {"id": job_id, "status": document["status"]}.items() <= next(
        job for job in listed if job["id"] == job_id
    ).items()


def test_cancel_ends_a_running_job_within_seconds(server: Server) -> None:
    job_id = server.command("submit", server.problem, "--rounds", "1000", "--baselines", "eager")[1].strip()
    with running("watch", job_id, "--server", server.address, home=server.home) as watching:
        watching.wait_for("^round 1")
        assert server.command("cancel", job_id)[0] == 0
        assert watching.process.wait(LIMIT_S) in (0, 1)
        watching.wait_for("^Cancelled by user")


HOSTILE = ("segfault", "fork_bomb_unseen", "forged_messages")
"""Others before the same evaluator: `tests/integration/test_evaluator.py`; all of them: `tests/integrity`."""


@pytest.mark.parametrize("name", with_full(HOSTILE, ("forged_messages",)))
def test_a_hostile_candidate_is_rejected_at_the_gate_its_file_declares(server: Server, name: str) -> None:
    one = declared(CANDIDATES / "cheats" / f"{name}.txt")
    report = server.judged((CANDIDATES / "problems" / f"{one.problem}.txt").read_text(), one.source)
    assert (report["verdict"], report["failed_gate"] in one.gates) == (one.verdict, True), report["gates"]
    evidence = " ".join(gate["detail"] for gate in report["gates"] if gate["status"] == "failed")
    assert re.search(one.reason, evidence), evidence


def test_the_worker_that_met_them_is_right_about_an_honest_candidate(server: Server) -> None:
    one = declared(CANDIDATES / "honest" / "silu_openmp.txt")
    report = server.judged((CANDIDATES / "problems" / f"{one.problem}.txt").read_text(), one.source)
    assert report["verdict"] == "accepted"


REFUSED = {
    "raises": ("raise RuntimeError('no luck')", r"scaled_silu\.py:\d+: .*no luck"),
    "is random": ("return x + torch.rand_like(x)", r"scaled_silu\.py(:\d+)?: .*deterministic"),
    "ignores its input": ("return torch.ones(8)", r"scaled_silu\.py(:\d+)?: .*(constant|depend|input)"),
    "never ends": ("return [time.sleep(0.1) for _ in iter(int, 1)]", r"scaled_silu\.py:\d+: .*did not end"),
}
"""One that takes memory without bound: `tests/integration/test_evaluator.py`, where the bound is lower."""


@pytest.mark.parametrize("fault", with_full(REFUSED, ("raises",)))
def test_a_problem_that_cannot_be_used_is_refused_with_its_file_and_a_remedy(server: Server, fault: str) -> None:
    body, words = REFUSED[fault]
    bad = server.home / "bad" / "scaled_silu.py"
    bad.parent.mkdir(exist_ok=True)
    good = "return torch.nn.functional.silu(x) * self.scale"
    bad.write_text(SMALL.replace(good, body).replace("import torch\n", "import time\n\nimport torch\n"))
    job_id = server.command("submit", bad, "--rounds", "1", "--baselines", "eager")[1].strip()
    code, _, told = server.command("watch", job_id)
    assert code == 1
    last = next(line for line in told.splitlines() if line.startswith("refused"))
    assert re.search(words, last), last
    assert re.search(r"\. [A-Z][^.]+\.$", last), f"no remedy in {last}"


def test_a_problem_that_reading_shows_to_be_wrong_is_not_taken(server: Server) -> None:
    bad = server.home / "bad" / "no_model.py"
    bad.parent.mkdir(exist_ok=True)
    bad.write_text(SMALL.replace("class Model", "class Other"))
    code, printed, told = server.command("submit", bad)
    assert (code, printed) == (2, "")
    assert told.count("\n") == 1
    assert "no_model.py" in told
    assert "Model" in told
    body = {"problem": {"name": "bad", "path": "bad.py", "source": "def f(:\n"}}
    answer = httpx.post(f"{server.address}/api/v1/jobs", json=body, timeout=30)
    assert answer.status_code == 422
    assert answer.headers["content-type"].startswith("application/problem+json")
    assert "bad.py:1" in answer.json()["detail"]
