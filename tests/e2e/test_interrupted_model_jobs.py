"""`kernelwright profile --run` that is interrupted, politely and not: it goes on, and no part is solved twice."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path

import pytest

from services.domain.jobs import Job
from services.runtime.clock import SystemClock
from storage.database import Database
from storage.jobs.store import SqlJobStore
from tests.e2e.programs import alive, descendants, run, run_within, running
from tests.e2e.test_model_jobs import TRANSFORMER
from tests.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1200)]
ROUNDS = 5
LIMIT_S = 500
"""On a machine that is busy; alone it takes about a tenth of that."""


def children_of(home: Path, job_id: str) -> tuple[Job, ...]:
    async def read() -> tuple[Job, ...]:
        database = Database(f"sqlite:///{home}/kernelwright.db")
        try:
            return await SqlJobStore(database, SystemClock()).children("local", job_id)
        finally:
            await database.close()

    return asyncio.run(read())


@pytest.mark.full
def test_a_run_over_a_model_survives_ctrl_c_and_sigkill_and_solves_no_part_twice(tmp_path: Path) -> None:
    home, model, out = tmp_path / "home", tmp_path / "transformer.py", tmp_path / "out"
    model.write_text(TRANSFORMER)
    options = ("--run", "--parts", "2", "--rounds", str(ROUNDS), "--swap-all", "--baselines", "eager", "--out", out)

    with running("profile", model, *options, home=home) as first:
        job_id = first.wait_for(r"^job (job-\w+)", LIMIT_S).group(1)
        part = first.wait_for(r"^part \d+: .*, job (job-\w+)$", LIMIT_S).group(1)
        first.wait_for("^round 1", LIMIT_S)
        assert first.stop(signal.SIGINT) == 130
        first.wait_for(rf"continue with: kernelwright profile --resume {job_id}$")
    (child,) = children_of(home, job_id)
    assert (child.id, child.status.is_final) == (part, False)

    with running("profile", "--resume", job_id, home=home) as second:
        second.wait_for(rf"^part \d+: .*, job {part}", LIMIT_S)
        refused = run("profile", "--resume", job_id, home=home)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert f"another process works on the parts of job {job_id}" in refused.stderr
        second.wait_for(rf"^part \d+: .*, job (?!{part})", LIMIT_S)
        below = descendants(second.process.pid)
        second.stop(signal.SIGKILL)
    until(lambda: not any(alive(process) for process in below))
    done, begun = children_of(home, job_id)
    assert (done.id, done.status.is_final, begun.status.is_final) == (part, True, False)

    by_hand = run("run", "--resume", job_id, home=home)
    assert by_hand.returncode == 2
    assert f"kernelwright profile --resume {job_id}" in by_hand.stderr

    third = run_within(LIMIT_S, "profile", "--resume", job_id, "--json", home=home)
    assert third.returncode in (0, 1), third.stderr
    outcome = json.loads(third.stdout)["run"]
    assert (outcome["job_id"], outcome["verdict"]) == (job_id, "accepted")
    assert outcome["status"] == ("solved" if third.returncode == 0 else "no_gain")
    assert f"job {part}, {done.status.value} before" in third.stderr
    assert children_of(home, job_id)[0] == done, "a part that was done is left as it was"
    assert {item["job_id"] for item in outcome["parts"] if item["swapped"]} == {done.id, begun.id}
    assert outcome["rounds"] <= ROUNDS
    assert Path(outcome["source_path"]).is_relative_to(out), "the folder that was named when it was begun"

    again = run("profile", "--resume", job_id, "--json", home=home)
    assert again.returncode == third.returncode, again.stderr
    assert json.loads(again.stdout)["run"] == outcome, "a run that has ended shows its result"


def test_what_cannot_go_on_is_refused_in_one_line(tmp_path: Path) -> None:
    unknown = run("profile", "--resume", "job-none", home=tmp_path)
    assert (unknown.returncode, unknown.stderr.strip()) == (2, "kernelwright: no job job-none")
    both = run("profile", "model.py", "--resume", "job-none", home=tmp_path)
    assert both.returncode == 2
    assert "either a model file or --resume JOB" in both.stderr
