"""`kernelwright profile`: a whole model's bottlenecks, solved as child jobs and put back, on the CPU."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from services.domain.jobs import Job
from services.runtime.clock import SystemClock
from storage.database import Database
from storage.jobs.store import SqlJobStore
from tests.e2e.programs import run_within

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1200)]
TRANSFORMER = """import torch
import torch.nn.functional as F


class Block(torch.nn.Module):
    def __init__(self, width, length):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.up = torch.nn.Linear(width, 2 * width)
        self.down = torch.nn.Linear(2 * width, width)
        self.register_buffer("mask", torch.triu(torch.ones(length, length, dtype=torch.bool), diagonal=1))

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).chunk(3, dim=-1)
        scores = (q @ k.transpose(1, 2) * 0.125).masked_fill(self.mask, float("-inf"))
        x = x + scores.softmax(dim=-1) @ v
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Model(torch.nn.Module):
    def __init__(self, width, length):
        super().__init__()
        self.blocks = torch.nn.Sequential(Block(width, length), Block(width, length))

    def forward(self, x):
        return self.blocks(x)


def get_inputs():
    return [torch.randn(4, 128, 64)]


def get_init_inputs():
    return [64, 128]
"""
ROUNDS = 2
LIMIT_S = 500
"""On a machine that is busy; alone it takes about a tenth of that."""


@dataclass(frozen=True, kw_only=True)
class Profiled:
    """What one run left behind."""

    home: Path
    document: dict[str, Any]
    ran: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> Profiled:
    folder = tmp_path_factory.mktemp("model")
    (folder / "transformer.py").write_text(TRANSFORMER)
    ran = run_within(
        LIMIT_S, "profile", folder / "transformer.py", "--run", "--parts", "1", "--rounds", str(ROUNDS), "--swap-all",
        "--baselines", "eager", "--out", folder / "out", "--json", home=folder / "home",
    )  # fmt: skip
    assert ran.returncode in (0, 1), ran.stderr
    return Profiled(home=folder / "home", document=json.loads(ran.stdout), ran=ran)


def test_the_bottlenecks_are_ranked_by_what_they_could_win_for_the_whole_model(profiled: Profiled) -> None:
    parts = profiled.document["parts"]
    operators = [tuple(part["operators"]) for part in parts]
    assert ("mul", "masked_fill", "softmax") in operators
    assert ("gelu",) in operators
    assert operators.count(("linear",)) == 3
    assert all(part["count"] == 2 for part in parts if part["operators"] in (["gelu"], ["linear"]))
    ceilings = [part["ceiling"] for part in parts]
    assert ceilings == sorted(ceilings, reverse=True)
    assert 0.5 < sum(part["share"] for part in parts) <= 1.0
    for part in parts:
        assert "def get_inputs" in Path(part["problem_path"]).read_text()
        assert part["name"] in profiled.ran.stderr


def test_what_no_template_fits_is_told_and_skipped(profiled: Profiled) -> None:
    parts = profiled.document["run"]["parts"]
    linear = [part for part in parts if part["name"].endswith("linear")]
    assert {part["reason"] for part in linear} == {"no template for aten.linear: configure a chat model"}
    assert all(part["job_id"] is None for part in linear)


def test_the_winner_is_put_back_and_the_whole_model_is_judged_end_to_end(profiled: Profiled) -> None:
    outcome = profiled.document["run"]
    (swapped,) = [part for part in outcome["parts"] if part["swapped"]]
    assert swapped["speedup"]["eager"] > 0
    assert swapped["eager_ci95"][0] <= swapped["speedup"]["eager"] <= swapped["eager_ci95"][1]
    assert outcome["verdict"] == "accepted", outcome
    assert outcome["eager_ci95"][0] <= outcome["speedup"]["eager"] <= outcome["eager_ci95"][1]
    assert outcome["status"] == ("solved" if outcome["eager_ci95"][0] > 1 else "no_gain")
    assert profiled.ran.returncode == (0 if outcome["status"] == "solved" else 1), profiled.ran.stderr
    assert outcome["predicted"] > 0
    assert outcome["rounds"] == ROUNDS
    assert "end to end" in profiled.ran.stderr


def test_the_assembled_model_takes_the_original_s_weights_and_gives_its_values(profiled: Profiled) -> None:
    folder = Path(profiled.document["run"]["source_path"]).parent
    check = """
import runpy, sys, torch
sys.path.insert(0, ".")
problem = runpy.run_path(sys.argv[1])
import kernel
original = problem["Model"](*problem["get_init_inputs"]())
mine = kernel.ModelNew(*problem["get_init_inputs"]())
mine.load_state_dict(original.state_dict())
x = problem["get_inputs"]()
with torch.no_grad():
    torch.testing.assert_close(mine(*x), original(*x), atol=1e-4, rtol=1e-4)
print("same")
"""
    (folder / "model.py").write_text(TRANSFORMER)
    done = subprocess.run(
        [sys.executable, "-c", check, "model.py"], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout.strip() == "same", done.stderr


def test_parent_and_child_are_in_the_database_under_one_budget(profiled: Profiled) -> None:
    outcome = profiled.document["run"]
    child_ids = [part["job_id"] for part in outcome["parts"] if part["job_id"] is not None]

    async def read() -> tuple[Job, tuple[Job, ...]]:
        database = Database(f"sqlite:///{profiled.home}/kernelwright.db")
        try:
            store = SqlJobStore(database, SystemClock())
            return await store.get("local", outcome["job_id"]), await store.children("local", outcome["job_id"])
        finally:
            await database.close()

    parent, children = asyncio.run(read())
    assert [child.id for child in children] == child_ids
    assert parent.parent_id is None
    assert parent.spec.tags == ("model", "evaluate-only")
    assert parent.steps_done + sum(child.steps_done for child in children) == outcome["rounds"]
    assert sum(child.spec.budget.rounds for child in children) < parent.spec.budget.rounds == ROUNDS


def test_a_model_that_does_not_trace_is_refused_with_file_line_and_remedy(tmp_path: Path) -> None:
    source = TRANSFORMER.replace(
        "        return self.blocks(x)\n", "        return x if x.sum() > 0 else self.blocks(x)\n"
    )
    (tmp_path / "branches.py").write_text(source)
    ran = run_within(LIMIT_S, "profile", tmp_path / "branches.py", home=tmp_path / "home")
    assert ran.returncode == 2
    line = source.splitlines().index("        return x if x.sum() > 0 else self.blocks(x)") + 1
    (told,) = ran.stderr.strip().splitlines()
    assert told.startswith(f"kernelwright: {tmp_path}/branches.py:{line}: the model cannot be traced: ")
    assert told.endswith("(no if, loop or .item() on a tensor).")
