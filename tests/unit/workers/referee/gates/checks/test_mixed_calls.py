"""Things that change together, against a real runner."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch

from tests.unit.workers.referee.boundary.test_runner_client import against, honest
from tests.unit.workers.referee.trials import a_reference, a_trial
from workers.ipc.tensors import TensorMeta
from workers.referee.boundary.runner_client import RunnerSession
from workers.referee.comparison.output_structure import Answer
from workers.referee.comparison.tolerance import ErrorScale, tolerances
from workers.referee.errors import Refused
from workers.referee.gates.checks.mixed_calls import CALLS, PATTERNS, has_structure_of, on_mixed
from workers.referee.gates.checks.size_groups import announced, bytes_with, size_groups
from workers.referee.inputs.constraints import Limits

DOUBLE = """
import torch
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return 2.0 * x
"""
ODD_AND_ODD = DOUBLE.replace("return 2.0 * x", "return (2.0 + x.shape[0] % 2 * (x.shape[1] % 2)) * x")
REFUSES = DOUBLE.replace("return 2.0 * x", "assert x.shape == (40, 24), 'unknown'\n        return 2.0 * x")

SCALES_FIRST = DOUBLE.replace("self, x", "self, x, scale=1.0, shift=0.0").replace("2.0 * x", "x * scale + shift")
SHIFTS_FIRST = SCALES_FIRST.replace("x * scale + shift", "(x + shift) * scale")
ANY_STATES = DOUBLE.replace("self, x", "self, states").replace("2.0 * x", "torch.stack(states).sum(dim=0)")
WHOLE_VECTORS = ANY_STATES.replace("dim=0)", "dim=0) * (len(states) == 3 or states[0].numel() % 8 == 0)")


def on_trial(session: RunnerSession | None, source: str, *shape: int) -> Any:
    problem = SimpleNamespace(
        tolerances=tolerances(None),
        gradient_names=(),
        argument_names=("x",),
        defaults={},
        is_step=False,
        limits=Limits(),
        forward_arguments=list,
        with_cotangents=list,
    )
    state = a_reference(
        aliases=frozenset(),
        shares=frozenset(),
        mutates=False,
        chooses=False,
        unvarying=(),
        usable=lambda _number: (),
        known_scales=lambda _kind: (ErrorScale(),),
        scales_on=lambda *_given: (ErrorScale(),),
        is_rounding_noise=lambda *_given: False,
        with_line_errors=lambda scales, *_given: scales,
        otherwise_rounded=lambda *_given: [],
        analysis=SimpleNamespace(operators=()),
        expected=lambda arguments: Answer.of(2.0 * arguments[0]),
        changed=lambda arguments, _kind: arguments,
        draw=lambda *_given: [torch.rand(shape)],
        metas=lambda _number: [TensorMeta(dtype="float32", shape=shape)],
    )
    trial: Any = a_trial(session=session, problem=problem, state=state, source=source)
    trial.draw = state.draw
    trial.is_called_on = True
    if session is not None:
        assert session.load(source, [], [], seed=1, copy_state=True, threads=2, limit_s=10.0)
    return trial


def found_in(source: str) -> tuple[str | None, list[str]]:
    notes: list[str] = []
    with against(honest) as session:
        trial = on_trial(session, source, 40, 24)
        finding = on_mixed(trial, list(size_groups(trial, announced(trial))), notes)
    return None if finding is None else finding.detail, notes


def found_with(
    source: str, reference: Callable[..., torch.Tensor], draw: Callable[[], list[Any]], **defaults: Any
) -> tuple[str | None, list[str]]:
    """What is found where arguments have defaults, or are lists."""
    notes: list[str] = []
    with against(honest) as session:
        trial = on_trial(session, source, 40, 24)
        state, problem = trial.state, trial.state.problem
        state.expected = lambda arguments: Answer.of(reference(*arguments))
        problem.run = state.expected
        problem.argument_names, problem.defaults = ("x", *defaults), defaults
        state.draw = trial.draw = lambda *_given: draw()
        finding = on_mixed(trial, list(size_groups(trial, announced(trial))), notes)
    return None if finding is None else finding.detail, notes


def one_draw() -> list[Any]:
    return [torch.rand(40, 24)]


def three_states() -> list[Any]:
    return [[torch.rand(40, 24) for _ in range(3)]]


def scaled(x: torch.Tensor, scale: float = 1.0, shift: float = 0.0) -> torch.Tensor:
    return x * scale + shift


def test_two_things_come_in_each_of_their_combinations() -> None:
    for one, other in itertools.combinations(PATTERNS, 2):
        assert len({(index in one, index in other) for index in range(CALLS)}) == 4


def test_a_kernel_that_is_right_passes_in_each_call() -> None:
    found, notes = found_in(DOUBLE)
    assert found is None
    assert len(notes) == CALLS
    assert all(note.startswith("passed on derived shapes ") for note in notes)


def test_a_kernel_that_is_wrong_where_both_sizes_are_odd_is_found() -> None:
    found, _ = found_in(ODD_AND_ODD)
    assert found is not None
    assert found.startswith("derived shapes ")


def test_a_kernel_may_refuse() -> None:
    found, notes = found_in(REFUSES)
    assert found is None
    assert all("refused with" in note for note in notes)


def test_dimensions_of_few_places_grow_where_outputs_do() -> None:
    trial = on_trial(None, DOUBLE, 1, 3, 16)
    groups = list(size_groups(trial, announced(trial)))
    assert [group.axes for group in groups] == [((0, 2),), ((0, 0),), ((0, 1),)]
    assert [group.is_small for group in groups] == [False, True, True]
    trial.state.expected = lambda arguments: Answer.of(arguments[0].sum(dim=1))
    trial.state.metas = lambda _number: [TensorMeta(dtype="float32", shape=(1, 16))]
    assert [group.axes for group in size_groups(trial, announced(trial))] == [((0, 2),), ((0, 0),)]


def test_where_no_smaller_size_is_taken_larger_ones_are_tried() -> None:
    trial = on_trial(None, DOUBLE, 40, 24)

    def at_least_24(arguments: list[Any]) -> Answer:
        if arguments[0].shape[1] < 24:
            raise Refused("too few columns", "give more")
        return Answer.of(2.0 * arguments[0])

    trial.state.expected = at_least_24
    rows, columns = size_groups(trial, announced(trial))
    assert rows.may_shrink
    assert columns.call[0].shape[1] > 24


def test_a_triangle_grows_as_a_whole_beside_its_parts() -> None:
    trial = on_trial(None, DOUBLE, 64, 64)
    trial.draw = lambda *_given: [torch.rand(2, 64, 64), torch.rand(64, 64).tril()]
    *_, whole = size_groups(trial, announced(trial))
    assert whole.is_square
    _, rows, columns = whole.call[0].shape
    assert rows == columns > 64


def test_beside_rows_and_their_columns_only_dimensions_change_that_no_index_names() -> None:
    trial = on_trial(None, DOUBLE, 40, 24)
    starts, columns = torch.tensor([0, 30, 31, 90]), torch.randint(0, 40, (90,))
    trial.draw = lambda *_given: [torch.rand(40, 24), columns, starts, torch.rand(90)]

    def up_to_40(arguments: list[Any]) -> Answer:
        if arguments[0].shape[0] < 40:
            raise Refused("an index is out of range", "give more rows")
        return Answer.of(2.0 * arguments[0])

    trial.state.expected = up_to_40
    rows, features = size_groups(trial, announced(trial))
    assert (rows.axes, rows.may_shrink) == (((0, 0),), False)
    assert (features.axes, features.may_shrink) == (((0, 1),), True)


def test_what_a_size_would_take_is_known_beforehand() -> None:
    tensors = [torch.zeros(4, 6, dtype=torch.int8), torch.zeros(6, 6), torch.zeros(5)]
    assert bytes_with(tensors, ((0, 1),), 12) == 4 * (4 * 12 + 36 + 5)
    assert bytes_with(tensors, ((0, 1), (1, 0), (1, 1)), 12) == 4 * (4 * 12 + 12 * 12 + 5)


def test_a_mask_that_is_cut_to_one_value_is_given_no_structure_that_the_announced_one_lacks() -> None:
    place = torch.arange(40)
    padding = (place < torch.arange(30, 38)[:, None]).float()
    known = [("[0]", padding)]
    shorter = (place[:20] < torch.arange(1, 9)[:, None]).float()
    with_gaps = torch.ones(8, 20)
    with_gaps[:, 3] = 0.0
    assert has_structure_of(known, [shorter], [0])
    assert not has_structure_of(known, [with_gaps], [0])


def test_two_arguments_that_are_left_out_differ_from_their_defaults_together() -> None:
    found, _ = found_with(SHIFTS_FIRST, scaled, one_draw, scale=1.0, shift=0.0)
    assert found is not None
    assert "scale = " in found
    assert "shift = " in found


def test_a_kernel_that_reads_both_passes() -> None:
    found, notes = found_with(SCALES_FIRST, scaled, one_draw, scale=1.0, shift=0.0)
    assert found is None
    assert len(notes) == CALLS + 1
    assert all(note.startswith("passed on") for note in notes)


def test_a_kernel_that_takes_no_further_argument_is_called_without_as_well() -> None:
    found, notes = found_with(DOUBLE.replace("2.0 * x", "1.0 * x"), scaled, one_draw, scale=1.0, shift=0.0)
    assert found is None
    assert sum("refused with" in note for note in notes) >= 3
    assert sum(note.startswith("passed on") for note in notes) == CALLS
    odd = ODD_AND_ODD.replace("(2.0 + ", "(1.0 + ")
    assert found_with(odd, scaled, one_draw, scale=1.0, shift=0.0)[0] is not None


def test_lists_have_other_lengths_where_sizes_are_others() -> None:
    found, _ = found_with(WHOLE_VECTORS, lambda states: torch.stack(states).sum(dim=0), three_states)
    assert found is not None
    assert "other lengths of lists" in found


def test_a_kernel_that_takes_any_list_passes() -> None:
    found, notes = found_with(ANY_STATES, lambda states: torch.stack(states).sum(dim=0), three_states)
    assert found is None
    assert any("other lengths of lists" in note for note in notes)
