"""The search over `TUNABLES` with real processes: the fastest right setting wins and is judged like any candidate."""

from pathlib import Path

import pytest

from services.domain.evaluations import Verdict
from services.domain.gates import GateName
from services.domain.tunables import with_values
from tests.integrity.test_candidates import declared, explain, judge
from workers.evaluation.evaluator import Evaluator

pytestmark = pytest.mark.integration

SEARCHED = declared(Path(__file__).parent / "tunables.txt", expects=False)
DECLARATION = SEARCHED.source[SEARCHED.source.index("TUNABLES = {") : SEARCHED.source.index("lib =")]


def searched(tunables: str, **replacements: str) -> str:
    source = SEARCHED.source.replace(DECLARATION, f"TUNABLES = {tunables}\n\n")
    for old, new in replacements.items():
        assert old in source
        source = source.replace(old, new)
    return source


def test_the_fastest_setting_that_is_right_wins(evaluator: Evaluator) -> None:
    report = judge(evaluator, SEARCHED)
    assert report.verdict is Verdict.ACCEPTED, explain(report)
    assert report.tuned is not None
    assert (report.tuned.parameters["REPEATS"], report.tuned.parameters["SCALE"]) == (1, 1)
    assert report.tuned.tried == 8
    timing = report.gate(GateName.TIMING)
    assert timing is not None
    assert "TUNABLES: 8 of 8 settings tried, 4 failed; REPEATS=1, SCALE=1" in timing.detail


def test_what_the_winner_makes_of_the_source_is_accepted_too_and_not_searched(evaluator: Evaluator) -> None:
    source = with_values(SEARCHED.source, {"REPEATS": 1, "SCALE": 1, "TILE": 2})
    report = judge(evaluator, SEARCHED.with_source(source))
    assert report.verdict is Verdict.ACCEPTED, explain(report)
    assert report.tuned is None


def test_a_candidate_whose_settings_are_all_wrong_is_rejected_by_the_gate_that_finds_it(evaluator: Evaluator) -> None:
    report = judge(evaluator, SEARCHED.with_source(searched('{"REPEATS": [1], "SCALE": [2, 3]}')))
    assert report.failed_gate is GateName.CORRECTNESS, explain(report)
    assert "with REPEATS=1, SCALE=2: " in explain(report)


def test_settings_that_crash_hang_or_do_not_compile_lose(evaluator: Evaluator) -> None:
    body = "y[r * n + i] = v / (1.0f + std::exp(-v)) * w[i] * (float)scale;"
    source = searched('{"REPEATS": ["?", 1], "SCALE": [7, 1]}').replace(
        body, f"if (scale == 7) *(volatile int*)0 = 1; {body}"
    )
    report = judge(evaluator, SEARCHED.with_source(source))
    assert report.verdict is Verdict.ACCEPTED, explain(report)
    assert report.tuned is not None
    assert report.tuned.parameters == {"REPEATS": 1, "SCALE": 1}


def test_a_setting_that_wins_by_cheating_has_the_candidate_rejected(evaluator: Evaluator) -> None:
    """With SCALE 9 it computes once and then returns what it had: the cheap check sees one call only."""
    source = (
        searched('{"REPEATS": [12], "SCALE": [1, 9]}')
        .replace(
            "        y = torch.empty_like(x)\n",
            "        if TUNABLES['SCALE'][0] == 9 and hasattr(self, 'kept'):\n            return self.kept\n"
            "        y = self.kept = torch.empty_like(x)\n",
        )
        .replace('TUNABLES["SCALE"][0])', "1)")
    )
    report = judge(evaluator, SEARCHED.with_source(source))
    assert report.verdict is Verdict.REJECTED, explain(report)
    assert "SCALE=9" in explain(report)


def test_a_bad_declaration_is_rejected_with_line_and_remedy(evaluator: Evaluator) -> None:
    report = judge(evaluator, SEARCHED.with_source(searched('{"REPEATS": 1, "SCALE": [1]}')))
    assert report.failed_gate is GateName.SCREEN
    assert 'line 6: TUNABLES["REPEATS"] is not a non-empty list' in explain(report)


@pytest.mark.full
def test_more_settings_than_are_tried_are_said(evaluator: Evaluator) -> None:
    source = searched(f'{{"REPEATS": [1], "SCALE": [1], "TILE": {list(range(40))}}}')
    report = judge(evaluator, SEARCHED.with_source(source))
    assert report.verdict is Verdict.ACCEPTED, explain(report)
    assert "of 40 settings tried" in explain(report)
    assert report.tuned is not None
    assert report.tuned.tried <= 32
