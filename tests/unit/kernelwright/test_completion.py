"""Shell completion, asked as bash asks."""

from __future__ import annotations

import pytest

from kernelwright import cli
from kernelwright.cli.options import STRATEGIES


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
