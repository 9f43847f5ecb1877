"""`kernelwright run` from a problem to a kernel that works without Kernelwright."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from services.domain.candidates import EvaluatedCandidate
from services.domain.evaluations import Verdict
from services.domain.steps import Step
from services.runtime.clock import SystemClock
from storage.database import Database
from storage.jobs.candidates import SqlCandidateStore
from storage.jobs.store import SqlJobStore
from tests.e2e.programs import COMMAND_LIMIT_S, EXAMPLES, WELL, check_export, run_within

pytestmark = pytest.mark.e2e

ROUNDS = 3


@dataclass(frozen=True, kw_only=True)
class Solved:
    """What one run left behind."""

    home: Path
    document: dict[str, Any]
    printed: str
    code: int


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Solved:
    home = tmp_path_factory.mktemp("home")
    options = ("--backend", "cpp", "--model", "playbook", "--rounds", str(ROUNDS), "--baselines", "eager", "--json")
    done = run_within(COMMAND_LIMIT_S, "run", EXAMPLES / "rmsnorm.py", *options, home=home, measured=True)
    return Solved(home=home, document=json.loads(done.stdout), printed=done.stderr, code=done.returncode)


def stored(solved: Solved) -> tuple[tuple[Step, ...], tuple[EvaluatedCandidate, ...]]:
    """The trajectory in the database."""

    async def read() -> tuple[tuple[Step, ...], tuple[EvaluatedCandidate, ...]]:
        database = Database(f"sqlite:///{solved.home}/kernelwright.db")
        job_id = solved.document["job_id"]
        try:
            steps = await SqlJobStore(database, SystemClock()).steps("local", job_id)
            return steps, await SqlCandidateStore(database, SystemClock()).list("local", job_id)
        finally:
            await database.close()

    return asyncio.run(read())


def test_the_document_on_standard_output_is_the_agreed_one(solved: Solved) -> None:
    document = solved.document
    assert solved.code == WELL.index(document["status"])
    assert list(document) == ["job_id", "status", "best", "rounds", "candidates", "usage", "trajectory_path"]
    assert (document["rounds"], document["candidates"]) == (ROUNDS, ROUNDS)
    best = document["best"]
    assert list(best) == ["candidate_id", "source_path", "speedup", "verdict"]
    assert best["verdict"] == "accepted"
    assert best["speedup"]["eager"] > 0
    assert best["speedup"]["best_baseline"] > 0
    assert document["usage"]["calls"] >= 4 * ROUNDS - 1
    folder = solved.home / "jobs" / document["job_id"]
    assert Path(best["source_path"]) == folder / "kernel.py"
    assert Path(document["trajectory_path"]) == folder / "trajectory.jsonl"
    assert {entry.name for entry in folder.iterdir()} >= {
        "kernel.py",
        "kernelwright_rt.py",
        "report.json",
        "trajectory.jsonl",
    }
    report = json.loads((folder / "report.json").read_text())
    assert report["verdict"] == "accepted"
    assert report["speedup"] == best["speedup"]


def test_progress_and_card_are_on_standard_error(solved: Solved) -> None:
    for words in ("validated", "round 1", "planner", "coder", "referee", "judge", f"round {ROUNDS}", "roofline"):
        assert words in solved.printed
    assert f"kernel      {solved.document['best']['source_path']}\n" in solved.printed


def test_every_step_is_in_the_database_with_prompt_reply_candidate_and_evaluation(solved: Solved) -> None:
    steps, candidates = stored(solved)
    assert [step.index for step in steps] == list(range(ROUNDS))
    by_id = {item.candidate.id: item for item in candidates}
    for step in steps:
        assert [call.role.value for call in step.calls][:2] == ["planner", "coder"]
        for call in step.calls:
            assert [message.role for message in call.prompt] == ["system", "user"]
            assert all(message.content for message in call.prompt)
            assert json.loads(call.reply)
        assert step.candidate_id is not None
        found = by_id[step.candidate_id]
        assert "class ModelNew" in found.candidate.source
        assert found.report is not None
        assert found.report.verdict is step.verdict
    best = by_id[solved.document["best"]["candidate_id"]]
    assert best.report is not None
    assert best.report.verdict is Verdict.ACCEPTED
    check_export(Path(solved.document["best"]["source_path"]).read_text(), best.candidate.source)
    lines = Path(solved.document["trajectory_path"]).read_text().splitlines()
    assert [json.loads(line)["step"]["index"] for line in lines] == list(range(ROUNDS))


BARE = """
import importlib.util, sys

class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"kernelwright", "services", "workers", "agents", "storage", "web"}:
            raise ImportError(f"{name} is not installed here")

sys.meta_path.insert(0, Nothing())
import torch

def load(path):
    spec = importlib.util.spec_from_file_location(path.rpartition("/")[2].removesuffix(".py"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

problem, kernel = load(sys.argv[1]), load("kernel.py")
torch.manual_seed(1)
reference = problem.Model(*problem.get_init_inputs())
mine = kernel.ModelNew(*problem.get_init_inputs())
mine.load_state_dict(reference.state_dict())
inputs = problem.get_inputs()
expected, found = reference(*inputs), mine(*inputs)
torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
assert found.shape == expected.shape and not torch.equal(found, torch.zeros_like(found))
print(sys.modules["kernelwright_rt"].__file__)
"""


def test_the_kernel_runs_where_kernelwright_is_not_installed(solved: Solved, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    source = Path(solved.document["best"]["source_path"])
    for name in ("kernel.py", "kernelwright_rt.py"):
        shutil.copy(source.parent / name, folder / name)
    (folder / "check.py").write_text(BARE)
    done = subprocess.run(
        [sys.executable, "check.py", str(EXAMPLES / "rmsnorm.py")],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(folder / "kernelwright_rt.py")
