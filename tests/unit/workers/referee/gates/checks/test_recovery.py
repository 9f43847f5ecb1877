"""An ordinary call after one that raised an exception, against a real runner."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tests.unit.workers.referee.boundary.test_runner_client import against, honest
from tests.unit.workers.referee.trials import a_reference, a_trial
from workers.ipc.tensors import TensorMeta
from workers.referee.boundary.runner_client import RunnerSession
from workers.referee.comparison.output_structure import Answer
from workers.referee.comparison.tolerance import ErrorScale, tolerances
from workers.referee.errors import Refused
from workers.referee.gates.checks.recovery import after_an_exception, after_an_illegal_index
from workers.referee.inputs.constraints import Limits

KINDS = 8
COUNTS = """
import torch

class ModelNew(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.counts = torch.zeros(n, dtype=torch.int64)

    def forward(self, labels):
        counts = START
        for label in labels.tolist():
            if not 0 <= label < len(counts):
                raise IndexError("label out of range")
            counts[label] += 1
        result = counts.clone()
        counts.zero_()
        return result
"""
KEEPS = COUNTS.replace("START", "self.counts")
BEGINS_ANEW = COUNTS.replace("START", "self.counts.zero_()")
LOOKS_AT_NOTHING = KEEPS.replace("0 <= label < len(counts)", "True").replace("counts[label]", "counts[label % 8]")


def expected(arguments: list[Any]) -> Answer:
    if int(arguments[0].max()) >= KINDS:
        raise Refused("label out of range", "give smaller ones")
    return Answer.of(torch.bincount(arguments[0], minlength=KINDS))


def on_trial(session: RunnerSession, source: str, *, is_step: bool = False) -> Any:
    assert session.load(source, [KINDS], [], seed=1, copy_state=True, threads=1, limit_s=10.0)
    problem = SimpleNamespace(tolerances=tolerances(None), gradient_names=(), limits=Limits(), is_step=is_step)
    state = a_reference(
        aliases=frozenset(),
        shares=frozenset(),
        mutates=frozenset(),
        scales=lambda *_given: (ErrorScale(),),
        scales_on=lambda *_given: None,
        with_line_errors=lambda scales, *_given: scales,
        otherwise_rounded=lambda *_given: [],
        expected=expected,
        draw=lambda *_given: [torch.randint(0, KINDS, (40,))],
        metas=lambda _number: [TensorMeta(dtype="int64", shape=(KINDS,))],
    )
    return a_trial(session=session, problem=problem, state=state)


def test_counts_that_an_exception_left_behind_are_found() -> None:
    with against(honest) as session:
        (result,) = after_an_illegal_index(on_trial(session, KEEPS))
    assert result.name.value == "correctness"
    assert result.detail.startswith("after a call that raised an exception: own values: the output differs")


@pytest.mark.parametrize("source", [BEGINS_ANEW, LOOKS_AT_NOTHING])
def test_a_kernel_that_begins_anew_passes_and_one_that_does_not_look_is_let_off(source: str) -> None:
    with against(honest) as session:
        assert after_an_illegal_index(on_trial(session, source)) == []


def test_no_index_is_out_of_range_where_gradients_are_judged() -> None:
    with against(honest) as session:
        assert after_an_illegal_index(on_trial(session, KEEPS, is_step=True)) == []


def test_one_ordinary_call_is_enough() -> None:
    with against(honest) as session:
        trial = on_trial(session, BEGINS_ANEW)
        assert after_an_exception(trial) is None
        trial.state.draw = None  # drawing again would be an error
        assert after_an_exception(trial) is None
