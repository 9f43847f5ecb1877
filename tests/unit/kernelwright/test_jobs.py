"""`kernelwright jobs`: what is faster and by how much, in 80 columns."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rich.console import Console

from kernelwright import cli
from kernelwright.cli.jobs import age, job_table
from services.domain.jobs import JobStatus
from tests.unit.kernelwright.servers import Reply, answering

NOW = datetime(2026, 9, 3, 12, tzinfo=UTC)
IDS = "0123456789abcdef0123"


def a_job(status: str = "solved", **fields: Any) -> dict[str, Any]:
    return {
        "id": f"job-{IDS}",
        "status": status,
        "problem": "rmsnorm",
        "model": "playbook",
        "steps_done": 8,
        "best_speedup": 1.61,
        "best_gain": "surely",
        "created_at": (NOW - timedelta(hours=3)).isoformat(),
        **fields,
    }


JOBS = (
    a_job(),
    a_job(
        "no_gain", best_speedup=1.02, best_gain="within_noise", steps_done=1000, problem="a_problem_with_a_long_name"
    ),
    a_job("validating", best_speedup=None, best_gain=None, steps_done=0),
    a_job("cancelled", best_speedup=12.34, best_gain="none"),
)


def lines(*jobs: dict[str, Any], width: int, wide: bool = False) -> list[str]:
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    console.print(job_table(jobs, NOW, wide=wide))
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_a_row_tells_the_speedup_and_whether_it_is_one() -> None:
    _, solved, noise, waiting, slower = lines(*JOBS, width=200)
    assert solved.split() == [f"job-{IDS}", "solved", "1.61×", "faster", "8", "3", "h", "rmsnorm"]
    assert "1.02×  within noise" in noise
    assert "slower" in slower
    assert waiting.split() == [f"job-{IDS}", "validating", "–", "0", "3", "h", "rmsnorm"]


def test_the_widest_jobs_fit_80_columns_a_line_each() -> None:
    shown = lines(*JOBS, width=80)
    assert len(shown) == 1 + len(JOBS)
    assert max(map(len, shown)) <= 80
    assert all(line.startswith(f"job-{IDS}  {job['status']} ") for job, line in zip(JOBS, shown[1:], strict=True))
    assert shown[2].endswith("…")
    assert len({line.index("×") for line in shown if "×" in line}) == 1


def test_a_wide_terminal_has_times_and_models() -> None:
    heading, row = lines(a_job(), width=150, wide=True)
    assert heading.split() == ["job", "status", "speedup", "gain", "rounds", "created", "model", "problem"]
    assert row.endswith("2026-09-03 09:00  playbook  rmsnorm")


def test_the_server_tells_the_gain_and_an_older_one_tells_none() -> None:
    older = a_job()
    del older["best_gain"]
    assert "faster" not in lines(older, width=200)[1]


def test_only_what_is_surely_faster_is_green() -> None:
    console = Console(file=io.StringIO(), width=200, force_terminal=True, color_system="standard")
    console.print(job_table(JOBS, NOW, wide=False))
    assert isinstance(console.file, io.StringIO)
    green = [line for line in console.file.getvalue().splitlines() if "\x1b[32m" in line]
    assert len(green) == 1
    assert "1.61×" in green[0]


@pytest.mark.parametrize(
    ("seconds", "words"), [(-2, "0 s"), (40, "40 s"), (150, "2 min"), (7200, "2 h"), (864000, "10 d")]
)
def test_an_age_is_in_its_largest_unit(seconds: float, words: str) -> None:
    assert age(seconds) == words


def test_a_page_is_listed_and_the_next_one_named(capsys: pytest.CaptureFixture[str]) -> None:
    page = Reply(document={"jobs": [a_job()], "next_cursor": "abc"})
    with answering({"GET /api/v1/jobs": page}) as server:
        assert cli.execute(["jobs", "--status", "solved", "--server", server.address]) == 0
    printed = capsys.readouterr()
    assert f"job-{IDS}  solved    1.61×  faster" in printed.out
    assert printed.err == "more: --cursor abc\n"


def test_an_unknown_status_is_refused_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    with answering({}) as server:
        assert cli.execute(["jobs", "--status", "done", "--server", server.address]) == 2
    assert server.bodies == {}
    said = capsys.readouterr().err
    assert [status for status in JobStatus if status.value not in said] == []


def test_help_lists_the_statuses(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert cli.execute(["jobs", "--help"]) == 0
    assert ", ".join(JobStatus) in " ".join(capsys.readouterr().out.replace("│", "").split())
