"""Which problems a bench is about: files, a level of KernelBench, a selection by number."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.bench.problems import ProblemFolder, problem_files, selected, spans
from kernelwright.suites.known import open_suite
from services.domain.errors import UserError
from tests.doubles.builders import PROBLEM_SOURCE
from tests.unit.kernelwright.bench.builders import an_item


def a_checkout(folder: Path, *names: str, level: int = 1) -> Path:
    inner = folder / "KernelBench" / f"level{level}"
    inner.mkdir(parents=True)
    for name in names:
        (inner / name).write_text(PROBLEM_SOURCE)
    return folder


def test_a_selection_lists_numbers_and_ranges() -> None:
    assert spans("1-20, 33,7 - 9") == ((1, 20), (33, 33), (7, 9))
    problems = [an_item(number) for number in range(1, 41)]
    assert [item.number for item in selected(problems, "33,2-4,3")] == [2, 3, 4, 33]
    assert selected(problems, None) == tuple(problems)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("5-2", "'5-2' ends before it begins: write 2-5"),
        ("1,,2", "'' is no number or range: write for example 1-20,33"),
        ("relu", "'relu' is no number or range"),
        ("-3", "'-3' is no number or range"),
        ("38-45", "there is no problem 45; choose from 1-40"),
    ],
)
def test_a_selection_that_cannot_be_met_says_what_to_write(text: str, words: str) -> None:
    with pytest.raises(UserError) as raised:
        selected([an_item(number) for number in range(1, 41)], text)
    assert words in str(raised.value)


def test_a_level_of_kernelbench_is_read_by_number(tmp_path: Path) -> None:
    checkout = a_checkout(tmp_path, "10_Ten.py", "9_Nine.py", "notes.py")
    suite = open_suite("kernelbench", checkout, 1)
    assert (suite.name, suite.level) == ("kernelbench", 1)
    assert [(item.number, item.key) for item in suite.problems()] == [(9, "9_Nine"), (10, "10_Ten")]
    assert suite.problems()[0].problem.source == PROBLEM_SOURCE
    inner = open_suite("kernelbench", checkout / "KernelBench", 1)
    assert [item.number for item in inner.problems()] == [9, 10]


@pytest.mark.parametrize(
    ("name", "level", "words"),
    [
        (
            "robustbench",
            1,
            "unknown suite 'robustbench'; known: kernelbench, kernelbench.com, gpu-mode, sol-execbench",
        ),
        ("kernelbench", None, "needs a level: --level 1, 2, 3 or 4"),
        ("kernelbench", 2, "no folder KernelBench/level2: git clone"),
    ],
)
def test_a_suite_that_is_not_there_says_what_to_do(tmp_path: Path, name: str, level: int | None, words: str) -> None:
    checkout = a_checkout(tmp_path, "1_One.py")
    with pytest.raises(UserError) as raised:
        open_suite(name, checkout, level).problems()
    assert words in str(raised.value)


def test_a_suite_without_a_checkout_asks_for_its_folder() -> None:
    with pytest.raises(UserError, match="name its folder with --path"):
        open_suite("kernelbench", None, 1)


def test_two_problems_of_one_number_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has the same number"):
        open_suite("kernelbench", a_checkout(tmp_path, "1_One.py", "1_Uno.py"), 1).problems()


def test_files_and_folders_are_taken_once(tmp_path: Path) -> None:
    problem = tmp_path / "relu.py"
    problem.write_text(PROBLEM_SOURCE)
    (tmp_path / "_notes.py").touch()
    assert problem_files([tmp_path, problem]) == [problem]
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="no problem files"):
        problem_files([tmp_path / "empty"])


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "relu.py").write_text(PROBLEM_SOURCE)
    found = ProblemFolder([tmp_path / "a", tmp_path / "b"]).problems()
    assert [(item.number, item.key) for item in found] == [(1, "a.relu"), (2, "b.relu")]
