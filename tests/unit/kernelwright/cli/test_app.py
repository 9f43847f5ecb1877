"""What `--help` shows (commands in panels, a line each on a terminal of 80 columns), and shell completion."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command

from kernelwright import cli
from kernelwright.cli.app import JOBS, MACHINE, SERVICES, SOLVE, TEAM, app
from kernelwright.cli.options import STRATEGIES

COLUMNS = 80
FRAME = 6
"""Columns that a panel takes for its border and between names and texts."""


def groups(name: str, command: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every group of commands with what is in it."""
    inner = getattr(command, "commands", None)
    if inner:
        yield name, inner
        for word, child in inner.items():
            yield from groups(f"{name} {word}", child)


@pytest.mark.parametrize(("group", "commands"), list(groups("kernelwright", get_command(app))))
def test_the_first_paragraph_of_every_command_fits_one_line(group: str, commands: dict[str, Any]) -> None:
    room = COLUMNS - FRAME - max(map(len, commands))
    first = {name: (command.help or "").strip().split("\n\n")[0] for name, command in commands.items()}
    assert {name: text for name, text in first.items() if not text or "\n" in text or len(text) > room} == {}


def test_every_command_is_in_a_named_panel() -> None:
    panels = {name: command.rich_help_panel for name, command in dict(groups("kernelwright", get_command(app)))[
        "kernelwright"
    ].items()}  # fmt: skip
    assert set(panels.values()) == {SOLVE, JOBS, SERVICES, TEAM, MACHINE}
    assert (panels["run"], panels["shares"], panels["db"], panels["doctor"]) == (SOLVE, JOBS, SERVICES, MACHINE)


def test_help_shows_the_panels_in_the_order_of_use(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    assert cli.execute(["--help"]) == 0
    text = capsys.readouterr().out
    places = [text.index(panel) for panel in (SOLVE, JOBS, SERVICES, TEAM, MACHINE)]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("kernelwright res", ["resume"]),
        ("kernelwright memory imp", ["import"]),
        ("kernelwright run --base", ["--baselines"]),
        ("kernelwright run --strategy ", list(STRATEGIES)),
        ("kernelwright submit --strategy m", ["map_elites"]),
        ("kernelwright submit --backend c", ["cpp", "cuda"]),
        ("kernelwright submit --agents ", ["lean", "full"]),
    ],
)
def test_bash_is_offered_commands_options_and_values(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: str, offered: list[str]
) -> None:
    monkeypatch.setenv("_KERNELWRIGHT_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words.replace(" ", "\n"))
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    assert cli.execute([]) == 0
    assert capsys.readouterr().out.split() == offered


def test_help_says_how_to_install_completion(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.execute(["--help"]) == 0
    assert "--install-completion" in capsys.readouterr().out
