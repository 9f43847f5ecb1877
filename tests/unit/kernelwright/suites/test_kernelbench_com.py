"""kernelbench.com: shapes set names of the module; those that build another model are other problems."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kernelwright.suites.kernelbench_com import KernelBenchCom
from kernelwright.suites.known import named_problem, open_suite
from services.domain.errors import UserError
from tests.unit.kernelwright.suites.samples import CHECKOUTS, runs

CHECKOUT = CHECKOUTS / "kernelbench.com"
ITEM = CHECKOUT / "benchmarks" / "tiny" / "problems" / "01_scaled_relu"


def test_shapes_of_one_model_are_its_input_sets_and_others_are_other_problems() -> None:
    problems = open_suite("kernelbench.com", CHECKOUT, None).problems()
    relu, halved, driven = problems
    assert [one.number for one in problems] == [1, 2, 3]
    assert relu.key == "benchmarks.tiny.problems.01_scaled_relu.SCALE2.0"
    assert halved.key.endswith(".ROWS64-SCALE0.5")
    assert (relu.group, driven.group) == ("activation", None)
    one = runs(relu.problem)
    assert [tuple(inputs[0].shape) for inputs in one.inputs] == [(256, 256), (65, 256)]
    assert one.init == [2.0]
    assert runs(halved.problem).init == [0.5]


def test_an_item_that_its_own_harness_drives_is_refused_by_name_and_the_rest_goes_on() -> None:
    *_, driven = open_suite("kernelbench.com", CHECKOUT, None).problems()
    assert driven.refusal is not None
    assert driven.refusal.reason == "get_inputs returns nothing: its own check.py drives a whole loop"
    assert driven.refusal.path.endswith("02_driven/reference.py")


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("shapes.py", "SHAPES = [make() for _ in range(3)]", "SHAPES is not a plain list"),
        ("shapes.py", "shapes = []", "it defines no list SHAPES"),
        ("shapes.py", 'SHAPES = [{"depth": 3}]', "nothing in reference.py reads depth"),
        ("reference.py", "class Model(:", "syntax error"),
        (
            "reference.py",
            "import torch.distributed\ndef get_inputs(): return [1]\ndef get_init_inputs(): return []",
            "GPUs",
        ),
    ],
)
def test_a_checkout_of_another_version_is_refused_with_the_reason(
    tmp_path: Path, file: str, text: str, words: str
) -> None:
    item = tmp_path / "01_scaled_relu"
    shutil.copytree(ITEM, item)
    (item / file).write_text(text)
    (only,) = open_suite("kernelbench.com", tmp_path, None).problems()
    assert only.refusal is not None
    assert words in str(only.refusal)


def test_reading_executes_nothing(tmp_path: Path) -> None:
    item = tmp_path / "01_scaled_relu"
    shutil.copytree(ITEM, item)
    for name in ("reference.py", "shapes.py"):
        path = item / name
        path.write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n" + path.read_text())
    assert len(KernelBenchCom().read(item)) == 2
    assert not (tmp_path / "ran").exists()


def test_an_item_is_named_by_its_path_and_one_of_its_problems_by_number_or_name() -> None:
    assert named_problem(ITEM, "1").name == "01_scaled_relu.SCALE2.0"
    assert named_problem(ITEM, "ROWS64-SCALE0.5").name == "01_scaled_relu.ROWS64-SCALE0.5"
    with pytest.raises(UserError, match=r"holds 2 problems, add --item NUMBER: 1 \(SCALE2.0\), 2 "):
        named_problem(ITEM)
    with pytest.raises(UserError, match="none is 7"):
        named_problem(ITEM, "7")


def test_a_part_of_a_checkout_is_a_folder_of_it() -> None:
    tiny = open_suite("kernelbench.com", CHECKOUT, None, "benchmarks/tiny").problems()
    assert len(tiny) == 3
    with pytest.raises(UserError, match=r"no kernelbench\.com problems: git clone"):
        open_suite("kernelbench.com", CHECKOUT, None, "benchmarks/other").problems()
