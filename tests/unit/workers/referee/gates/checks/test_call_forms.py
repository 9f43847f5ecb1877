"""Arguments by keyword, and models in their other mode, against a real runner."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from tests.unit.workers.referee.boundary.test_runner_client import DOUBLE, against, honest
from tests.unit.workers.referee.trials import a_reference, a_trial
from workers.ipc.tensors import TensorMeta
from workers.referee.comparison.output_structure import Answer
from workers.referee.comparison.tolerance import ErrorScale, tolerances
from workers.referee.gates.checks.call_forms import by_keyword, in_the_other_mode
from workers.referee.gates.finding import GateFinding
from workers.referee.inputs.constraints import Limits

WEIGHT = torch.arange(1.0, 5.0)
ADDED = DOUBLE.replace("def forward(self, x)", "def forward(self, x, y)").replace("return x *", "return y + x *")
EXCHANGED = ADDED.replace("(self, x, y)", "(self, y, x)").replace("return y + x *", "return x + y *")
RENAMED = ADDED.replace("(self, x, y)", "(self, x, z)").replace("return y +", "return z +")
ALWAYS = DOUBLE.replace("return x *", "return x if not self.training else x *")


class Problem:
    """`x * weight`, to which `y` is added where there is one; in evaluation mode `outside` times as much."""

    def __init__(self, arguments: int, outside: float) -> None:
        self.arguments, self.outside, self.factor = arguments, outside, 1.0
        self.is_step = False
        self.tolerances = tolerances(None)
        self.gradient_names = ()
        self.limits = Limits()
        self.argument_names = ("x", "y")
        self.init_sets = 0

    def forward_arguments(self, arguments: list[Any]) -> list[Any]:
        return list(arguments)

    def state(self) -> list[tuple[str, torch.Tensor]]:
        return [("weight", WEIGHT)]

    @contextlib.contextmanager
    def moved_statistics(self, _seed: int, *, in_other_mode: bool) -> Iterator[bool]:
        self.factor = self.outside if in_other_mode else 1.0
        yield not in_other_mode
        self.factor = 1.0

    def expected(self, arguments: list[torch.Tensor]) -> Answer:
        return Answer.of(sum(arguments[1:], arguments[0] * WEIGHT) * self.factor)


def examined(check: Any, source: str, arguments: int = 1, outside: float = 1.0) -> tuple[GateFinding | None, list[str]]:
    problem = Problem(arguments, outside)
    with against(honest) as session:
        assert session.load(source, [4], problem.state(), seed=1, copy_state=True, threads=1, limit_s=10.0)
        state = a_reference(
            problem=problem,
            aliases=frozenset(),
            shares=frozenset(),
            mutates=frozenset(),
            scales=lambda *_given: (ErrorScale(),),
            scales_on=lambda *_given: None,
            with_line_errors=lambda scales, *_given: scales,
            otherwise_rounded=lambda *_given: [],
            expected=problem.expected,
            draw=lambda *_given: [torch.rand(3, 4) + index for index in range(arguments)],
            metas=lambda _number: [TensorMeta(dtype="float32", shape=(3, 4))],
        )
        trial = a_trial(state=state, session=session)
        return check(trial), trial.notes


def test_a_kernel_whose_arguments_have_the_references_names_passes() -> None:
    assert examined(by_keyword, ADDED, 2) == (None, [])


def test_a_kernel_whose_names_are_exchanged_is_found() -> None:
    finding, _ = examined(by_keyword, EXCHANGED, 2)
    assert finding is not None
    assert finding.detail.startswith("with arguments by keyword")


def test_a_kernel_may_refuse_keywords_and_the_report_says_so() -> None:
    finding, notes = examined(by_keyword, RENAMED, 2)
    assert finding is None
    assert any(note.startswith("PROVEN FOR ARGUMENTS BY POSITION") and "'y'" in note for note in notes)


def test_a_single_argument_has_no_other_order() -> None:
    assert examined(by_keyword, RENAMED.replace(", z)", ", z=0.0)")) == (None, [])


@pytest.mark.parametrize("source", [DOUBLE, DOUBLE.replace("return x", "assert self.training\n        return x")])
def test_a_kernel_that_is_right_in_both_modes_passes_and_one_may_refuse_the_other(source: str) -> None:
    finding, notes = examined(in_the_other_mode, source)
    assert finding is None
    assert [note.partition(":")[0] for note in notes] == (
        ["PROVEN FOR TRAINING MODE ONLY"] if "assert" in source else []
    )


def test_a_kernel_is_wrong_in_the_other_mode_where_the_reference_is_the_same_there() -> None:
    finding, _ = examined(in_the_other_mode, ALWAYS)
    assert finding is not None
    assert finding.detail.startswith("after eval(): ")


def test_where_the_reference_is_another_there_a_kernel_is_remarked_on() -> None:
    finding, notes = examined(in_the_other_mode, DOUBLE, outside=2.0)
    assert finding is None
    assert any(note.startswith("PROVEN FOR TRAINING MODE ONLY: after eval(): ") for note in notes)
