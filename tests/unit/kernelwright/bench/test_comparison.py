"""Scores, two runs beside each other, and the static page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kernelwright.bench.comparison import compare
from kernelwright.bench.leaderboard import NamedRun, leaderboard
from kernelwright.bench.results import Results
from kernelwright.bench.tables import as_markdown
from kernelwright.bench.totals import sol_score, summarise, total
from kernelwright.cli.app import app
from services.domain.errors import ConflictError, UserError
from tests.doubles.builders import MOMENT
from tests.unit.kernelwright.bench.builders import a_row, some_terms


def unsolved(number: int) -> object:
    return a_row(number, eager=None, strongest=None)


def test_the_sol_score_is_half_at_the_baseline_and_one_at_the_roofline() -> None:
    assert sol_score(a_row(strongest=1.0, roofline_fraction=0.25)) == pytest.approx(0.5)
    assert sol_score(a_row(strongest=3.0, roofline_fraction=1.2)) == 1.0
    # kernel 10 us, baseline 20 us, floor 5 us: 1 / (1 + 5 / 15)
    assert sol_score(a_row(strongest=2.0, roofline_fraction=0.5)) == pytest.approx(0.75)
    assert sol_score(a_row(strongest=0.4, roofline_fraction=0.5)) == 0.0
    assert sol_score(a_row(eager=None, strongest=None)) == 0.0
    assert (
        total([a_row(1, strongest=1.0, roofline_fraction=0.25), a_row(2, eager=None, strongest=None)]).sol_score == 0.25
    )


def test_the_sol_score_is_of_the_set_that_the_roofline_is_of() -> None:
    """Over all sets the kernel is three times as fast, on the first one, whose roofline it is, twice."""
    assert sol_score(a_row(strongest=3.0, first_set_speedup=2.0, roofline_fraction=0.5)) == pytest.approx(0.75)
    assert sol_score(a_row(strongest=3.0, first_set_speedup=None, roofline_fraction=0.5)) == 0.0


def test_a_suites_own_categories_are_totalled_beside_ours() -> None:
    rows = [a_row(1, group="gemm"), a_row(2, group="gemm", eager=None, strongest=None), a_row(3, group="norm")]
    document = summarise(rows, some_terms())
    assert {name: (one.accepted, one.problems) for name, one in document.groups.items()} == {
        "gemm": (1, 2),
        "norm": (1, 1),
    }
    assert "| gemm | 1 of 2 |" in as_markdown(document)
    assert "suite's category" not in as_markdown(summarise([a_row()], some_terms()))


def test_what_is_faster_everywhere_is_sure_and_what_varies_is_not() -> None:
    a = [a_row(number, strongest=1.0 + 0.01 * number) for number in range(1, 21)]
    faster = [a_row(number, strongest=2.2 + 0.01 * number, latency_ci95_us=(40.0, 42.0)) for number in range(1, 21)]
    found = compare(a, faster)
    geometric = found.differences[-1]
    assert geometric.difference == pytest.approx(2.0, rel=0.1)
    assert geometric.is_sure
    assert geometric.low < geometric.difference < geometric.high
    assert len(found.faster_in_b) == 20
    assert found.faster_in_a == ()
    mixed = [a_row(n, strongest=(1.0 + 0.01 * n) * (2.0 if n % 2 else 0.5)) for n in range(1, 21)]
    assert not compare(a, mixed).differences[-1].is_sure


def test_a_run_against_itself_differs_in_nothing() -> None:
    rows = [a_row(1), a_row(2, eager=None, strongest=None)]
    found = compare(rows, rows)
    assert not any(one.is_sure for one in found.differences)
    assert {one.difference for one in found.differences} == {0.0, 1.0}
    assert (found.only_a, found.only_b, found.left_out) == ((), (), ())


def test_only_problems_of_both_with_the_same_text_are_compared() -> None:
    a = [a_row(1), a_row(2), a_row(3), a_row(5)]
    b = [a_row(1), a_row(2, eager=None, strongest=None), a_row(3, source_hash="other"), a_row(4)]
    found = compare(a, b)
    assert found.differences[0].problems == 2
    assert found.only_a == ("2_relu",)
    assert found.left_out == ("3_relu", "4_relu", "5_relu")
    with pytest.raises(UserError, match="no problem in common"):
        compare([a_row(1)], [a_row(2)])


def test_runs_of_other_hardware_are_not_compared() -> None:
    with pytest.raises(ConflictError, match="differ in hardware"):
        compare([a_row(1)], [a_row(1, hardware="H200")])


def a_folder(folder: Path, *rows: object) -> Path:
    results = Results(folder)
    with results.held():
        results.begin(some_terms(), MOMENT)
        for row in rows:
            results.keep(row)  # type: ignore[arg-type]
    return folder


def test_the_commands_read_folders(tmp_path: Path) -> None:
    a = a_folder(tmp_path / "a", a_row(1, strongest=1.5), a_row(2))
    b = a_folder(tmp_path / "b", a_row(1, strongest=3.0), unsolved(2))
    shown = CliRunner().invoke(app, ["bench", "compare", str(a), str(b)])
    assert shown.exit_code == 0, shown.output
    assert "accepted in A only: 1 (2_relu)" in shown.output
    out = tmp_path / "board.html"
    assert CliRunner().invoke(app, ["bench", "page", str(a), str(b), "--out", str(out)]).exit_code == 0
    text = out.read_text()
    assert text.index(">a</a>") < text.index(">b</a>"), "sorted by SOL score"
    assert "<script" not in text
    assert not re.search(r"(src|href)=\"(?!#)", text)
    missing = CliRunner().invoke(app, ["bench", "page", str(tmp_path / "none")])
    assert isinstance(missing.exception, UserError)


def test_names_from_outside_are_escaped_on_the_page() -> None:
    row = a_row(1, problem="<b>x</b>", message="<script>alert(1)</script>", eager=None, strongest=None)
    text = leaderboard([NamedRun(name="<i>", document=summarise([row], some_terms()))], "A & B")
    assert "<script" not in text
    assert "<b>" not in text
    assert "<i>" not in text
    assert "A &amp; B" in text
