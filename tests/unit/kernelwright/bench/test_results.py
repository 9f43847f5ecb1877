"""A folder of results is gone on with on the same terms only, and merged with its like."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernelwright.bench.results import Results, merge
from services.domain.errors import ConflictError, UserError
from services.domain.jobs import AgentsMode, Budget
from tests.doubles.builders import MOMENT
from tests.unit.kernelwright.bench.builders import a_row, some_terms


def a_folder(path: Path, *numbers: int, terms: dict[str, Any] | None = None, **changes: Any) -> Results:
    results = Results(path)
    with results.held():
        results.begin(some_terms(**(terms or {})), MOMENT)
        for number in numbers:
            row = a_row(number, **changes)
            kernel = results.kernels(row.key)
            kernel.mkdir(parents=True)
            (kernel / "kernel.py").write_text(f"# {number}\n")
            results.keep(row)
    return results


def test_rows_come_back_by_number_as_they_were_kept(tmp_path: Path) -> None:
    results = a_folder(tmp_path / "out", 10, 2)
    assert results.rows() == (a_row(2), a_row(10))
    assert sorted(path.name for path in (tmp_path / "out" / "rows").iterdir()) == ["10_relu.json", "2_relu.json"]


def test_the_same_terms_go_on_under_the_same_name(tmp_path: Path) -> None:
    results = a_folder(tmp_path / "out", 1)
    kept = results.kept()
    assert kept is not None
    assert results.begin(some_terms(), MOMENT) == kept


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"suite": "files"}, "made with --suite kernelbench, not files"),
        ({"level": 2}, "made with --level 1, not 2"),
        ({"device": "h200"}, "made with --device cpu, not h200"),
        ({"referee_version": "4"}, "made with referee 3, not 4"),
        ({"model": "openai:gpt"}, "made with --model playbook, not openai:gpt"),
        ({"strategy": "tree"}, "made with --strategy greedy, not tree"),
        ({"beam": 4}, "made with --beam 1, not 4"),
        ({"agents": AgentsMode.LEAN}, "made with --agents full, not lean"),
        ({"baselines": ("eager",)}, "made with --baselines eager,compile, not eager"),
        ({"budget": Budget(rounds=5, wall_s=60.0)}, "made with the budget rounds 2, not rounds 5, wall_s 60"),
    ],
)
def test_a_folder_of_other_terms_is_refused(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    results = a_folder(tmp_path / "out", 1)
    with pytest.raises(ConflictError) as raised:
        results.begin(some_terms(**change), MOMENT)
    assert words in str(raised.value)
    assert "name another folder" in str(raised.value)


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(UserError, match=r"holds thesis\.tex and no results of bench: name a new folder"):
        Results(tmp_path).begin(some_terms(), MOMENT)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_only_one_process_writes_to_a_folder(tmp_path: Path) -> None:
    with (
        Results(tmp_path / "out").held(),
        pytest.raises(ConflictError, match="another process writes"),
        Results(tmp_path / "out").held(),
    ):
        pass


def test_a_row_of_other_hardware_or_of_another_referee_is_not_kept(tmp_path: Path) -> None:
    results = a_folder(tmp_path / "out", 1)
    with pytest.raises(ConflictError, match=r"hardware 'Test CPU' \(1_relu\) and hardware 'Big CPU' \(2_relu\)"):
        results.keep(a_row(2, hardware="Big CPU"))
    with pytest.raises(ConflictError, match="referee '3'"):
        results.keep(a_row(2, referee_version="4"))
    results.keep(a_row(2, hardware=None, referee_version=None))
    assert [row.number for row in results.rows()] == [1, 2]


def test_a_row_that_was_damaged_is_named(tmp_path: Path) -> None:
    results = a_folder(tmp_path / "out", 1)
    (tmp_path / "out" / "rows" / "1_relu.json").write_text("{")
    with pytest.raises(UserError, match=r"1_relu\.json: cannot be read .* remove it to have it made again"):
        results.rows()


def test_merging_takes_rows_and_kernels_of_all_folders(tmp_path: Path) -> None:
    one, other = a_folder(tmp_path / "a", 1, 3), a_folder(tmp_path / "b", 2)
    target = Results(tmp_path / "both")
    with target.held():
        merge([one, other], target, MOMENT)
    assert [row.number for row in target.rows()] == [1, 2, 3]
    assert (target.kernels("2_relu") / "kernel.py").read_text() == "# 2\n"
    kept = target.kept()
    assert kept is not None
    assert kept.terms == some_terms()


@pytest.mark.parametrize(
    ("second", "words"),
    [
        ({"hardware": "Big CPU"}, "hardware 'Test CPU' (1_relu) and hardware 'Big CPU' (2_relu) must not be counted"),
        ({"referee_version": "4"}, "referee '3' (1_relu) and referee '4' (2_relu)"),
        ({"terms": {"device": "h200"}, "device": "h200"}, "made with --device cpu, not h200"),
        ({"terms": {"level": 2}}, "made with --level 1, not 2"),
        ({"terms": {"strategy": "tree"}}, "made with --strategy greedy, not tree"),
    ],
)
def test_mixed_folders_are_not_merged(tmp_path: Path, second: dict[str, Any], words: str) -> None:
    one, other = a_folder(tmp_path / "a", 1), a_folder(tmp_path / "b", 2, **second)
    target = Results(tmp_path / "both")
    with target.held(), pytest.raises(ConflictError) as raised:
        merge([one, other], target, MOMENT)
    assert words in str(raised.value)
    assert target.kept() is None


def test_nobody_chooses_between_two_rows_of_a_problem(tmp_path: Path) -> None:
    one, other = a_folder(tmp_path / "a", 1), a_folder(tmp_path / "b", 1)
    with pytest.raises(ConflictError, match=r"remove the file rows/1_relu\.json that shall not count"):
        merge([one, other], Results(tmp_path / "both"), MOMENT)


def test_a_folder_without_results_is_not_merged(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"terms\.json is missing"):
        merge([Results(tmp_path / "nowhere")], Results(tmp_path / "both"), MOMENT)
