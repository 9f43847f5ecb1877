"""Wrong use of `kernelwright bench`: one line that says what to write, and nothing is run or left behind."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from kernelwright import cli
from kernelwright.bench.results import Results
from tests.doubles.builders import MOMENT, PROBLEM_SOURCE
from tests.unit.kernelwright.bench.builders import a_row, some_terms


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    path = tmp_path / "relu.py"
    path.write_text(PROBLEM_SOURCE)
    return path


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELWRIGHT_HOME", str(tmp_path / "home"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "name problem files or folders, or a suite: --suite kernelbench --level 1 --path CHECKOUT"),
        (("--suite", "kernelbench", "--level", "1"), "name its folder with --path"),
        (("--suite", "kernelbench", "--path", "."), "needs a level: --level 1, 2, 3 or 4"),
        (("--suite", "other", "--path", "."), "unknown suite 'other'; known: kernelbench"),
        (("--suite", "kernelbench", "--level", "1", "--path", ".", "x.py"), "leave out x.py"),
        (("RELU", "--level", "1"), "--level belongs to a suite: add --suite kernelbench"),
        (("RELU", "--path", "."), "--path belongs to a suite"),
        (("RELU", "--problems", "2"), "there is no problem 2; choose from 1-1"),
        (("RELU", "--json", "--markdown"), "use either --json or --markdown"),
        (("RELU", "--server", "127.0.0.1:8000"), "--server needs a URL with a scheme"),
        (("--merge",), "kernelwright bench --merge DIR DIR --out NEW"),
        (("--merge", "nowhere", "--model", "playbook"), "--merge runs nothing: leave out --model"),
        (("--merge", "nowhere"), "terms.json is missing"),
    ],
)
def test_wrong_use_says_what_to_write(
    capsys: pytest.CaptureFixture[str], problem: Path, arguments: tuple[str, ...], words: str
) -> None:
    assert cli.execute(["bench", *(str(problem) if word == "RELU" else word for word in arguments)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert words in printed.err


def test_a_folder_of_other_terms_is_refused_before_anything_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, problem: Path
) -> None:
    Results(tmp_path / "out").folder.mkdir()
    Results(tmp_path / "out").begin(some_terms(), MOMENT)
    Results(tmp_path / "out").keep(a_row())
    assert cli.execute(["bench", str(problem), "--out", str(tmp_path / "out")]) == 2
    assert "made with --suite kernelbench, not files" in capsys.readouterr().err


def test_merging_prints_and_writes_the_totals_of_all_rows(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)  # no plots, for which fonts are looked for
    for name, number in (("a", 1), ("b", 2)):
        results = Results(tmp_path / name)
        results.folder.mkdir()
        results.begin(some_terms(), MOMENT)
        results.keep(a_row(number))
    folders = [str(tmp_path / name) for name in ("a", "b")]
    assert cli.execute(["bench", "--merge", *folders, "--out", str(tmp_path / "both"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [row["problem"] for row in document["problems"]] == ["1_relu", "2_relu"]
    assert document["totals"]["against"]["strongest"]["measured"] == 2
    assert json.loads((tmp_path / "both" / "results.json").read_text())["accepted"] == 2
