"""`pause`, `resume` and `cancel`: what they ask of a server, and what they say where it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from kernelwright import cli
from tests.unit.kernelwright.servers import Reply, answering, refusal

JOB = "/api/v1/jobs/job-1"


def a_job(status: str, *, best: str | None = None) -> dict[str, Any]:
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
    with answering({f"POST {JOB}/{action}": Reply(document=a_job(status))}) as server:
        assert cli.execute([action, "job-1", "--server", server.address]) == 0
    assert capsys.readouterr().out == f"{words}\n"


def test_a_paused_job_says_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    with answering({f"POST {JOB}/pause": Reply(document=a_job("paused"))}) as server:
        cli.execute(["pause", "job-1", "--server", server.address])
    assert capsys.readouterr().err == "go on with: kernelwright resume job-1\n"


def test_a_resumed_job_has_another_model_and_more_rounds_where_asked() -> None:
    with answering({f"POST {JOB}/resume": Reply(document=a_job("queued"))}) as server:
        arguments = ["resume", "job-1", "--model", "openai:gpt", "--rounds", "20", "--server", server.address]
        assert cli.execute(arguments) == 0
    assert server.bodies == {f"POST {JOB}/resume": {"model": "openai:gpt", "rounds": 20}}


@pytest.mark.parametrize(
    ("action", "job", "hint"),
    [
        ("pause", a_job("solved", best="cand-1"), "(its kernel: kernelwright best job-1)"),
        ("pause", a_job("failed"), "(to go on: kernelwright resume job-1)"),
        ("resume", a_job("cancelled"), "(to try again: kernelwright submit)"),
        ("resume", a_job("running"), "(kernelwright pause job-1)"),
        ("resume", a_job("failed"), "(to try again: kernelwright submit)"),
        ("cancel", a_job("no_gain", best="cand-1"), "(its kernel: kernelwright best job-1)"),
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
