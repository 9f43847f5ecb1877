"""A run that is interrupted, politely and not: what was finished stays, and the same job goes on."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import pytest

from tests.e2e.programs import SMALL, WELL, alive, descendants, run, running
from tests.waiting import until

pytestmark = pytest.mark.e2e

ROUNDS = 4


def test_a_job_survives_ctrl_c_and_sigkill_and_repeats_no_finished_step(tmp_path: Path) -> None:
    home, problem = tmp_path / "home", tmp_path / "scaled_silu.py"
    problem.write_text(SMALL)
    options = ("--rounds", str(ROUNDS), "--baselines", "eager", "--json")

    with running("run", problem, *options, home=home) as first:
        job_id = first.wait_for(r"^job (job-\w+)").group(1)
        first.wait_for("^round 2")
        assert first.stop(signal.SIGINT) == 130
        first.wait_for(rf"continue with: kernelwright run --resume {job_id}$")

    with running("run", "--resume", job_id, "--json", home=home) as second:
        second.wait_for("^round 3")
        children = descendants(second.process.pid)
        second.stop(signal.SIGKILL)
    until(lambda: not any(alive(child) for child in children))

    third = run("run", "--resume", job_id, "--json", home=home)
    assert third.returncode in (0, 1), third.stderr
    assert "holds the job" not in third.stderr, "the holder's process is gone: its lease is not waited for"
    document = json.loads(third.stdout)
    assert document["job_id"] == job_id
    assert third.returncode == WELL.index(document["status"])
    assert (document["rounds"], document["candidates"]) == (ROUNDS, ROUNDS)
    steps = [json.loads(line)["step"] for line in Path(document["trajectory_path"]).read_text().splitlines()]
    assert [step["index"] for step in steps] == list(range(ROUNDS))
    assert all(step["verdict"] == "accepted" for step in steps)
    whole = "".join(first.lines) + "".join(second.lines) + third.stderr
    begun = re.findall(r"^round \d+", whole, re.MULTILINE)
    assert (begun.count("round 1"), begun.count("round 4")) == (1, 1)

    again = run("run", "--resume", job_id, "--json", home=home)
    assert again.returncode == third.returncode
    assert json.loads(again.stdout) == document
