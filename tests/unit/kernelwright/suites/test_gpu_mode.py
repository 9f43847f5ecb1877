"""GPU MODE: benchmark cases are input sets, test cases are held out, and files of a task become one text."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch

from kernelwright.suites.gpu_mode import GpuMode
from kernelwright.suites.known import named_problem, open_suite
from services.domain.errors import ProblemError
from services.problems.lint import public_source
from tests.unit.kernelwright.suites.samples import CHECKOUTS, runs

TASKS = CHECKOUTS / "gpu-mode" / "tasks"


def test_a_task_is_one_problem_over_the_values_of_its_tuple() -> None:
    problem = named_problem(TASKS / "scaled_add")
    one = runs(problem)
    assert [tuple(inputs[0].shape) for inputs in one.inputs] == [(256, 256), (512, 512)]
    a, b, buffer = one.inputs[0]
    before = buffer.clone()
    torch.testing.assert_close(one.outputs[0], a + 2 * b)
    assert torch.equal(buffer.nan_to_num(), before.nan_to_num()), "the buffer is left alone"
    assert "def forward(self, a, b, output):" in problem.source
    assert "make_match_reference" not in problem.source


def test_test_cases_are_held_out_from_agents() -> None:
    source = named_problem(TASKS / "scaled_add").source
    assert "HELD_OUT = [_test_0, _test_1]" in source
    assert "'size': 33" in source
    assert "'size': 33" not in public_source(named_problem(TASKS / "scaled_add"))


def test_what_the_referee_cannot_judge_is_refused_by_name() -> None:
    loose, scaled, several = open_suite("gpu-mode", TASKS, None).problems()
    assert scaled.refusal is None
    assert (scaled.key, scaled.group) == ("scaled_add", "tasks")
    assert loose.refusal is not None
    assert loose.refusal.reason == "its checker accepts other outputs than the reference's"
    assert loose.refusal.line == 13
    assert several.refusal is not None
    assert several.refusal.reason == "it needs several GPUs"


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("task.yml", "tests: [", "not readable YAML"),
        ("task.yml", "!!python/object/apply:os.system ['true']", "not readable YAML"),
        ("task.yml", "lang: py", "neither benchmarks nor tests"),
        (
            "task.yml",
            "tests: [{size: 3}]\nfiles: [{name: reference.py, source: gone.py}]",
            "its file gone.py is missing",
        ),
        ("reference.py", "x = 1", "it defines no ref_kernel"),
        (
            "reference.py",
            "from utils import gone\ndef generate_input(): ...\ndef ref_kernel(data): return gone",
            "no gone",
        ),
    ],
)
def test_a_task_of_another_version_is_refused_with_the_reason(tmp_path: Path, file: str, text: str, words: str) -> None:
    shutil.copytree(TASKS, tmp_path / "tasks")
    (tmp_path / "tasks" / "scaled_add" / file).write_text(text)
    with pytest.raises(ProblemError, match=words):
        GpuMode().read(tmp_path / "tasks" / "scaled_add")


def test_two_meanings_of_one_name_are_refused(tmp_path: Path) -> None:
    shutil.copytree(TASKS, tmp_path / "tasks")
    utils = tmp_path / "tasks" / "utils.py"
    utils.write_text(utils.read_text() + "\n\ninput_t = int\n\n\ndef scaled(values: input_t, factor): return values\n")
    with pytest.raises(ProblemError, match="mean two things by input_t"):
        GpuMode().read(tmp_path / "tasks" / "scaled_add")
