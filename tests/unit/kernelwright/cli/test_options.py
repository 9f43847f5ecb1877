"""Options that start a job: their help lists what may be chosen, and a wrong name never leaves this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from agents.strategies.registry import STRATEGIES as STRATEGY_FACTORIES
from kernelwright import cli
from kernelwright.cli.app import app
from kernelwright.cli.options import BACKENDS, STRATEGIES, chosen_baselines, listed
from services.adapters.llm.registry import PROVIDERS
from services.domain.measurements import BASELINES
from tests.doubles import a_problem
from tests.unit.kernelwright.servers import Reply, answering
from workers.backends.registry import FACTORIES

STARTING = ("run", "bench run", "submit")
SUBMITTED = Reply(document={"id": "job-1"}, status=201)


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    path = tmp_path / "relu.py"
    path.write_text(a_problem().source)
    return path


def help_of(command: str, option: str) -> str:
    named: Any = get_command(app)
    for word in command.split():
        named = named.commands[word]
    (found,) = [parameter.help for parameter in named.params if option in parameter.opts]
    return str(found)


def sent(problem: Path, *options: str) -> dict[str, Any]:
    with answering({"POST /api/v1/jobs": SUBMITTED}) as server:
        assert cli.execute(["submit", str(problem), *options, "--server", server.address]) == 0
    return dict(server.bodies["POST /api/v1/jobs"])


@pytest.mark.parametrize("command", STARTING)
@pytest.mark.parametrize(
    ("option", "names"),
    [
        ("--strategy", tuple(STRATEGY_FACTORIES)),
        ("--backend", tuple(FACTORIES)),
        ("--baselines", BASELINES),
        ("--model", ("playbook", "manual", *(f"{name}:NAME" for name in PROVIDERS))),
    ],
)
def test_help_lists_what_may_be_chosen(command: str, option: str, names: tuple[str, ...]) -> None:
    text = help_of(command, option)
    assert [name for name in names if name not in text] == []


def test_the_names_that_are_written_down_are_those_that_exist() -> None:
    assert set(STRATEGIES) == set(STRATEGY_FACTORIES)
    assert set(BACKENDS) == set(FACTORIES)


@pytest.mark.parametrize("command", STARTING)
def test_every_command_that_starts_jobs_limits_wall_time(command: str) -> None:
    assert "wall-clock time" in help_of(command, "--wall")


@pytest.mark.parametrize(
    ("option", "name", "words"),
    [
        ("--baselines", "eager,naive", "unknown baseline 'naive'; known: eager, compile, compile_max"),
        ("--strategy", "luck", "unknown strategy 'luck'; known: greedy, islands, map_elites, tree, value_driven, "),
    ],
)
def test_a_wrong_name_is_refused_before_anything_is_sent(
    capsys: pytest.CaptureFixture[str], problem: Path, option: str, name: str, words: str
) -> None:
    with answering({"POST /api/v1/jobs": SUBMITTED}) as server:
        assert cli.execute(["submit", str(problem), option, name, "--server", server.address]) == 2
    assert server.bodies == {}
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"kernelwright: {words}")
    assert printed.err.count("\n") == 1


def test_wall_time_and_baselines_are_sent(problem: Path) -> None:
    body = sent(problem, "--wall", "90", "--baselines", "eager, compile")
    assert body["budget"]["wall_s"] == 90
    assert body["baselines"] == ["eager", "compile"]


def test_what_is_left_out_is_for_the_server_to_choose(problem: Path) -> None:
    body = sent(problem)
    assert (body["budget"]["wall_s"], body["baselines"]) == (None, None)


def test_baselines_that_are_not_named_are_the_devices() -> None:
    assert chosen_baselines(None, "cpu") == ("eager", "compile")
    assert chosen_baselines(None, "h200") == BASELINES
    assert chosen_baselines("compile", "h200") == ("compile",)
    assert listed(" eager,,compile ,") == ("eager", "compile")


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (("run", "--resume", "job-1", "--wall", "5"), "--wall"),
        (("run", "--resume", "job-1", "--baselines", "eager"), "--baselines"),
        (("run", "--resume", "job-1", "--strategy", "tree"), "--strategy"),
        (("profile", "--resume", "job-1", "--parts", "2"), "--parts"),
    ],
)
def test_an_option_that_would_change_nothing_is_refused_beside_resume(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], option: str
) -> None:
    assert cli.execute(list(arguments)) == 2
    expected = f"kernelwright: a resumed job keeps what it was started with: leave out {option}\n"
    assert capsys.readouterr().err == expected
