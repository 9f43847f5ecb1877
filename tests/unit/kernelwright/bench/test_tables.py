"""What a bench writes for people and for programs."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
from pathlib import Path

import pytest

from kernelwright.bench.outputs import with_whole_paths, write_extras, write_tables
from kernelwright.bench.tables import as_csv, as_markdown, totals_lines
from kernelwright.bench.totals import BenchDocument
from services.domain import codec
from tests.unit.kernelwright.bench.builders import a_document


def test_markdown_tells_terms_totals_problems_and_reasons() -> None:
    text = as_markdown(a_document())
    assert text.startswith("# kernelbench level 1 on cpu (Test CPU)\n\ncpp, playbook, greedy, 2 rounds, referee 3, ")
    assert "referee 3, 2026-01-01 to 2026-01-02\n" in text
    assert "| 1_relu | yes | 4.00× | 2.00× | 2.00× | [1.90, 2.10] | 50 % | playbook | 8.0 |" in text
    assert "| 2_relu | no (unsolved) | – | – | – | – | – | – | 8.0 |" in text
    assert "| eager | 50% | 50% | 50% | 50% | 50% | 1 | 4.00× (of 1) |" in text
    assert "| activation | 1 of 2 | 4.00× (of 1) | 50% | 2.00× (of 1) | 50% |" in text
    assert "- 2_relu: no template \\| for conv\n" in text


def test_the_totals_say_what_remains_and_who_wrote_the_kernels() -> None:
    lines = totals_lines(a_document())
    assert lines[0] == "accepted 1 of 2"
    assert "device seconds: 16.0 (6.0 validation and baselines, 10.0 candidates)" in lines
    assert "best kernels by: playbook 1; with the compiler's draft among their ancestors 0" in lines
    assert lines[-1] == "1 problem remains"


def test_csv_has_a_line_a_problem_and_nothing_where_nothing_is_known() -> None:
    first, second = csv.DictReader(io.StringIO(as_csv(a_document().problems)))
    assert (first["problem"], first["speedup_strongest"], first["speedup_strongest_low"]) == ("1_relu", "2.0", "1.9")
    assert (first["validation_device_s"], first["torch"], first["accepted"]) == ("3.0", "2.13.0", "True")
    assert (second["speedup_eager"], second["author"], second["message"]) == ("", "", "no template | for\nconv")


def test_the_tables_of_a_folder_are_written_and_read_again(tmp_path: Path) -> None:
    document = a_document()
    write_tables(tmp_path, document)
    assert codec.loads(BenchDocument, (tmp_path / "results.json").read_text()) == document
    assert (tmp_path / "results.md").read_text() == as_markdown(document)
    assert (tmp_path / "results.csv").read_text() == as_csv(document.problems)


def test_paths_of_kernels_are_within_the_folder_and_whole_where_they_are_printed(tmp_path: Path) -> None:
    document = with_whole_paths(a_document(), tmp_path)
    assert [row.kernel_path for row in document.problems] == [f"{tmp_path}/kernels/1_relu/kernel.py", None]
    assert json.loads(codec.dumps(a_document()))["problems"][0]["kernel_path"] == "kernels/1_relu/kernel.py"


def test_what_is_not_installed_is_said_with_what_installs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    told = write_extras(tmp_path, a_document())
    assert [line.partition(":")[0] for line in told] == ["no results.parquet", "no plots"]
    assert all("pip install 'kernelwright[benchmark]'" in line for line in told)
    assert list(tmp_path.iterdir()) == []
