"""SOL-ExecBench and FlashInfer-Bench: definitions over their workloads, and what is missing for some."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from kernelwright.suites.known import named_problem, open_suite
from services.domain.errors import ProblemError
from services.problems.lint import public_source
from tests.unit.kernelwright.suites.samples import CHECKOUTS, runs

SOL = CHECKOUTS / "sol-execbench" / "benchmark" / "L1"
FLASHINFER = CHECKOUTS / "flashinfer-bench"


def test_workloads_are_input_sets_and_what_is_beyond_eight_is_held_out() -> None:
    problem = named_problem(SOL / "scaled_silu")
    one = runs(problem)
    assert [tuple(inputs[0].shape) for inputs in one.inputs] == [
        (256, 128),
        (128, 128),
        (64, 128),
        (200, 128),
        (14, 128),
    ]
    assert one.inputs[0][1] == 1.5
    torch.testing.assert_close(one.outputs[0], torch.nn.functional.silu(one.inputs[0][0]) * 1.5)
    assert "(400, 128)" in problem.source
    assert "(400, 128)" not in public_source(problem)


def test_a_definition_makes_its_own_inputs() -> None:
    one = runs(named_problem(SOL / "picked_rows"))
    table, rows = one.inputs[0]
    assert int(rows.max()) < len(table) == 512
    assert torch.equal(one.outputs[0], table[rows])


def test_a_missing_weight_file_is_refused_by_name_and_the_rest_goes_on() -> None:
    picked, scaled, without = open_suite("sol-execbench", SOL.parents[1], None).problems()
    assert (picked.refusal, picked.group) == (None, "gather")
    assert (scaled.refusal, scaled.group) == (None, "L1")
    assert without.refusal is not None
    assert without.refusal.reason == "the file of x is missing: blob/x.safetensors"
    assert without.key == "benchmark.L1.without_weights"


def test_small_tensors_of_a_file_travel_with_the_problem() -> None:
    one = runs(named_problem(FLASHINFER / "definitions" / "segment" / "offset_rows_w64.json"))
    x, starts = one.inputs[1]
    assert starts.tolist() == [0, 3, 7, 19]
    assert x.shape == (100, 64)
    assert torch.equal(one.outputs[1], torch.relu(x)[starts.long()])


def test_a_definition_without_workloads_is_refused() -> None:
    lonely, rows = open_suite("flashinfer-bench", FLASHINFER, None).problems()
    assert rows.refusal is None
    assert rows.key == "definitions.segment.offset_rows_w64"
    assert lonely.refusal is not None
    assert "there are no workloads/**/lonely.jsonl" in str(lonely.refusal)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"axes": {}}, "it has no axes"),
        (
            {"inputs": {"x": {"shape": ["rows"], "dtype": "float4_e2m1fn_x2"}, "scale": {"shape": None}}},
            "float4_e2m1fn_x2",
        ),
        (
            {"inputs": {"x": {"shape": ["rows"], "dtype": "float32"}}},
            "run takes 2 arguments, and the definition names 1",
        ),
        ({"reference": "def main(): ..."}, "defines no function run"),
        ({"reference": "def run(x, scale:"}, "syntax error"),
        ({"axes": {"rows": {"type": "tree"}}}, "unknown type 'tree'"),
    ],
)
def test_a_definition_of_another_version_is_refused_with_the_reason(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    item = tmp_path / "scaled_silu"
    shutil.copytree(SOL / "scaled_silu", item)
    path = item / "definition.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with pytest.raises(ProblemError, match=words.replace("(", r"\(")):
        named_problem(item)


def test_paths_do_not_leave_the_checkout(tmp_path: Path) -> None:
    item = tmp_path / "without_weights"
    shutil.copytree(SOL / "without_weights", item)
    workload = item / "workload.jsonl"
    workload.write_text(workload.read_text().replace("blob/x", "../../etc/x"))
    with pytest.raises(ProblemError, match="lies outside the checkout"):
        named_problem(item)
