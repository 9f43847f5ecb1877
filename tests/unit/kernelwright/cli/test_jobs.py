"""`jobs` in 80 columns; `pause`, `resume`, `cancel`: what they ask of a server, and what they say where it refuses."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rich.console import Console

from kernelwright import cli
from kernelwright.cli.jobs import age, job_table
from services.domain.jobs import JobStatus
from tests.unit.kernelwright.servers import Reply, answering, refusal

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


JOB = "/api/v1/jobs/job-1"


def in_status(status: str, *, best: str | None = None) -> dict[str, Any]:
    return {"id": "job-1", "status": status, "best_candidate_id": best}


@pytest.mark.parametrize(
    ("action", "status", "words"),
    [
        ("pause", "paused", "Paused"),
        ("pause", "running", "Pause requested: it takes effect after this step"),
        ("resume", "queued", "Resumed: it waits for an orchestrator"),
        ("resume", "paused", "Resumed: it waits for an orchestrator"),
        ("resume", "running", "Resumed: it is running"),
        ("cancel", "cancelled", "Cancelled"),
        ("cancel", "running", "Cancellation requested"),
    ],
)
def test_a_steered_job_tells_where_it_stands(
    capsys: pytest.CaptureFixture[str], action: str, status: str, words: str
) -> None:
    with answering({f"POST {JOB}/{action}": Reply(document=in_status(status))}) as server:
        assert cli.execute([action, "job-1", "--server", server.address]) == 0
    assert capsys.readouterr().out == f"{words}\n"


def test_a_paused_job_says_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    with answering({f"POST {JOB}/pause": Reply(document=in_status("paused"))}) as server:
        cli.execute(["pause", "job-1", "--server", server.address])
    assert capsys.readouterr().err == "go on with: kernelwright resume job-1\n"


def test_a_resumed_job_has_another_model_and_more_rounds_where_asked() -> None:
    with answering({f"POST {JOB}/resume": Reply(document=in_status("queued"))}) as server:
        arguments = ["resume", "job-1", "--model", "openai:gpt", "--rounds", "20", "--server", server.address]
        assert cli.execute(arguments) == 0
    assert server.bodies == {f"POST {JOB}/resume": {"model": "openai:gpt", "rounds": 20}}


@pytest.mark.parametrize(
    ("action", "job", "hint"),
    [
        ("pause", in_status("solved", best="cand-1"), "(its kernel: kernelwright best job-1)"),
        ("pause", in_status("failed"), "(to go on: kernelwright resume job-1)"),
        ("resume", in_status("cancelled"), "(to try again: kernelwright submit)"),
        ("resume", in_status("running"), "(kernelwright pause job-1)"),
        ("resume", in_status("failed"), "(to try again: kernelwright submit)"),
        ("cancel", in_status("no_gain", best="cand-1"), "(its kernel: kernelwright best job-1)"),
    ],
)
def test_a_job_in_the_wrong_state_is_one_line_with_what_to_do(
    capsys: pytest.CaptureFixture[str], action: str, job: dict[str, Any], hint: str
) -> None:
    replies = {f"POST {JOB}/{action}": refusal("job job-1 is elsewhere"), f"GET {JOB}": Reply(document=job)}
    with answering(replies) as server:
        assert cli.execute([action, "job-1", "--server", server.address]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == f"kernelwright: job job-1 is elsewhere {hint}\n"


def test_a_refusal_that_names_the_command_to_use_is_left_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    refused = refusal("job job-1 waits for its parts: kernelwright profile --resume job-1")
    with answering({f"POST {JOB}/resume": refused}) as server:
        assert cli.execute(["resume", "job-1", "--server", server.address]) == 1
    assert capsys.readouterr().err.endswith("kernelwright profile --resume job-1\n")


def test_an_unknown_job_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with answering({f"POST {JOB}/pause": refusal("no job job-1", 404)}) as server:
        assert cli.execute(["pause", "job-1", "--server", server.address]) == 2
    assert capsys.readouterr().err == "kernelwright: no job job-1\n"
