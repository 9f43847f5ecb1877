"""Atrex-Bench, robust-kbench and MultiKernelBench: models with inputs by name, by settings and by case."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch

from kernelwright.suites.known import NAMES, named_problem, open_suite
from services.domain.errors import ProblemError, UserError
from services.problems.lint import public_source
from tests.unit.kernelwright.suites.samples import CHECKOUTS, runs

ATREX = CHECKOUTS / "atrex-bench" / "data" / "scaled_pair"
ROBUST = CHECKOUTS / "robust-kbench" / "tasks" / "scaled_tanh"
MULTI = CHECKOUTS / "multikernelbench"


def test_every_suite_has_a_tiny_checkout_with_a_readable_problem() -> None:
    for name in NAMES[1:]:
        problems = open_suite(name, CHECKOUTS / name, None).problems()
        assert any(one.refusal is None for one in problems), name


def test_inputs_by_name_go_by_place_and_outputs_stay_named() -> None:
    one = runs(named_problem(ATREX, "1"))
    x, y = one.inputs[1]
    assert (x.shape, one.init) == ((33, 128), {"factor": 3.0})
    assert 0.4 < float(x.std()) < 0.6 < float(y.std())
    torch.testing.assert_close(one.outputs[1], {"out": torch.relu(x + y) * 3, "residual": x + y})


def test_other_arguments_of_the_constructor_make_another_problem() -> None:
    _, first, second = open_suite("atrex-bench", CHECKOUTS / "atrex-bench", None).problems()
    assert (first.key, second.key) == ("data.scaled_pair.factor3.0", "data.scaled_pair.defaults")
    assert runs(second.problem).init == {}


@pytest.mark.parametrize("text", ["[]", '{"0": {"init_kwargs": null}}', "{"])
def test_shapes_of_another_version_are_refused(tmp_path: Path, text: str) -> None:
    shutil.copytree(ATREX, tmp_path / "item")
    (tmp_path / "item" / "shapes.json").write_text(text)
    with pytest.raises(ProblemError, match=r"shapes\.json"):
        named_problem(tmp_path / "item")


def test_settings_are_combined_with_the_shared_ones() -> None:
    wide, narrow = (named_problem(ROBUST / "config_forward.json", number) for number in ("1", "2"))
    one = runs(wide)
    assert [tuple(inputs[0].shape) for inputs in one.inputs] == [(256, 128), (8, 128), (31, 128)]
    assert one.init == {"start": 1.5, "width": 128}
    assert narrow.name == "config_forward.width64"
    torch.testing.assert_close(one.outputs[0], torch.tanh(one.inputs[0][0]) * 1.5)


def test_backward_settings_ask_for_gradients_and_filters_are_labels() -> None:
    problems = open_suite("robust-kbench", CHECKOUTS / "robust-kbench", None).problems()
    assert {one.group for one in problems} == {"flagged: output_std"}
    assert ["BACKWARD = True" in one.problem.source for one in problems] == [True, True, False, False]
    forward, *gradients = runs(problems[0].problem).outputs[0]
    assert forward is not None
    assert gradients


def test_a_configuration_without_lists_is_refused(tmp_path: Path) -> None:
    shutil.copytree(ROBUST, tmp_path / "item")
    (tmp_path / "item" / "config_forward.json").write_text(json.dumps({"single_input_configs": [{}]}))
    with pytest.raises(ProblemError, match="no lists of single settings"):
        named_problem(tmp_path / "item" / "config_forward.json")


def test_cases_of_a_file_travel_with_the_problem_and_those_beyond_eight_are_held_out() -> None:
    npu, relu, double = open_suite("multikernelbench", MULTI, None).problems()
    assert npu.refusal is not None
    assert npu.refusal.reason == "it needs an Ascend NPU (torch_npu)"
    assert (relu.group, double.group) == ("activation", "cases_level0")
    one = runs(double.problem)
    assert [inputs[0].shape[0] for inputs in one.inputs] == list(range(8, 16))
    assert "_arguments(9)" in double.problem.source
    assert "_arguments(9)" not in public_source(double.problem)


def test_a_plain_file_elsewhere_is_a_problem_file(tmp_path: Path) -> None:
    path = tmp_path / "relu.py"
    path.write_text("x = 1")
    assert named_problem(path).source == "x = 1"
    with pytest.raises(UserError, match="holds one problem: leave out --item 2"):
        named_problem(path, "2")
    with pytest.raises(UserError, match="is no item of a suite"):
        named_problem(tmp_path)
