"""Problems of suites are made smaller by the numbers of their inputs, and answers are counted once each."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.suite_scaling import Cost, Scaled, scaled
from benchmarks.suite_validation import SuiteValidation, known, section

SOURCE = """batch = 64
width = 4096
blocks = 4096 // 16


class Model:
    def forward(self, x, w):
        return (x @ w)[:4096]


def get_inputs():
    return [torch.rand(batch, width), torch.rand(4096, 32)]


def _inputs_1():
    return [torch.rand(8, 512), torch.rand(512, 32)]


INPUT_SETS = [_inputs_1, _inputs_1, _inputs_1]
"""


def _scope(source: str) -> dict[str, Any]:
    """What the constants are, without the model."""
    scope: dict[str, Any] = {}
    exec(source.partition("class")[0], scope)
    return scope


def test_the_largest_number_is_halved_everywhere_but_in_the_model_until_the_cost_is_small() -> None:
    found = scaled(SOURCE, lambda source: Cost(_scope(source)["batch"] * _scope(source)["width"] / (64 * 1024)))
    scope = _scope(found.source)
    assert [scope[name] for name in ("batch", "width", "blocks")] == [64, 1024, 64]
    assert "torch.rand(1024, 32)" in found.source
    assert "[:4096]" in found.source
    assert found.source.endswith("INPUT_SETS = INPUT_SETS[:2]\n")
    assert found.changes == "3 of 4 input sets; 4096 is 1024"


def test_a_number_with_which_the_model_cannot_be_called_stays() -> None:
    def cost(source: str) -> Cost:
        scope = _scope(source)
        return Cost(scope["batch"] / 16, "" if scope["width"] == 4096 else "RuntimeError: shapes")

    found = scaled(SOURCE, cost)
    assert (_scope(found.source)["batch"], _scope(found.source)["width"]) == (16, 4096)
    assert "64 is 16" in found.changes


def test_what_is_small_is_left_as_it_is() -> None:
    small = SOURCE.replace("[_inputs_1, _inputs_1, _inputs_1]", "[_inputs_1]")
    assert scaled(small, lambda _source: Cost(0.5)) == Scaled(small, "")


def test_the_last_answer_to_a_problem_counts(tmp_path: Path) -> None:
    first = SuiteValidation(suite="s", revision="r", key="one", outcome="infrastructure_error", reason="lost 12345")
    second = SuiteValidation(suite="s", revision="r", key="one", outcome="validated", scaled="64 is 32")
    other = SuiteValidation(suite="s", revision="r", key="two", outcome="refused", reason="it | has no inputs")
    file = tmp_path / "answers.jsonl"
    file.write_text("".join(f"{json.dumps(asdict(one))}\n" for one in (first, other, second)))
    found = known([file, tmp_path / "missing.jsonl"])
    assert found == [second, other]
    assert "| s | r | 2 | 1 | 1 | 0 | 0 | 0 | 0 | 0 | 1 |" in section(found)
    assert "| refused | 1 | it \\| has no inputs | `two` |" in section(found)
