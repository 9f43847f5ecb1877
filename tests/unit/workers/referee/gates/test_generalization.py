"""A kernel need not be able to do what nobody announced, and is told so."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.nn import functional

from tests.unit.workers.referee.boundary.test_runner_client import against, frozen, honest, loaded  # noqa: F401 - a fixture
from tests.unit.workers.referee.gates.checks.test_calls import WEIGHT, trial_of
from workers.ipc.tensors import TensorMeta
from workers.referee.boundary.runner_client import RunnerSession
from workers.referee.comparison.output_structure import Answer
from workers.referee.comparison.tolerance import ErrorScale
from workers.referee.errors import FaultKind, Refused, RunnerFault
from workers.referee.gates import generalization
from workers.referee.gates.checks.size_groups import announced, size_groups
from workers.referee.gates.generalization import (
    LONG,
    LONG_BYTES,
    LOOP,
    MOST_COUNTED,
    SHORT,
    SLOWER,
    _again,
    _counted,
    _exchanged,
    _long,
    _may_be_slow,
    _on_derived,
    _other_rows,
    _tell_unchanged,
)
from workers.referee.inputs.constraints import Limits
from workers.referee.inputs.index_structure import index_structure


def trial_on(session: RunnerSession, answer: torch.Tensor) -> Any:
    """The session's candidate multiplies by `WEIGHT`, the reference by `answer` at any width."""
    trial = trial_of(session)
    problem, state = trial.state.problem, trial.state
    trial.draw = lambda *_given: [torch.rand(80, 4)]
    problem.forward_arguments = problem.with_cotangents = list
    problem.limits = Limits()
    problem.run = lambda arguments: Answer.of(arguments[0] * _as_wide(answer, arguments[0].shape[1]))
    state.metas = lambda _number: [TensorMeta.of(WEIGHT)]
    state.expected = problem.run
    state.tried.usable = lambda _number: ()
    state.tried.left_out = state.unvarying = ()
    state.set_numbers = [0]
    state.traits.named_indices, state.traits.knows_ties, state.place = (), True, SimpleNamespace(is_gpu=False)
    state.changed = lambda arguments, _kind: arguments
    problem.argument_names = ("x",)
    state.traits.names, state.analysis = {"mul"}, SimpleNamespace(operators=[])
    state.traits.chooses = state.mutates = problem.is_step = False
    trial.is_called_on = True  # an ordinary call takes more of a state than there is here
    return trial


def _as_wide(answer: torch.Tensor, width: int) -> torch.Tensor:
    """The factors of a width; those of width one are broadcast, as the candidate's are."""
    return answer if width == 1 else answer[torch.arange(width) % 4]


@pytest.mark.usefixtures("frozen")
def test_who_is_wrong_on_derived_shapes_is_told_that_a_kernel_may_raise() -> None:
    with against(honest) as session:
        assert loaded(session, [("weight", WEIGHT)])
        trial = trial_on(session, WEIGHT + 1.0)
        finding = _on_derived(trial, list(size_groups(trial, announced(trial))), [])
    assert finding is not None
    assert finding.detail.startswith("derived shapes ")
    assert finding.detail.endswith(". A kernel may raise an exception for shapes that it does not support")


@pytest.mark.usefixtures("frozen")
def test_who_raises_on_derived_shapes_passes() -> None:
    notes: list[str] = []
    with against(honest) as session:
        assert loaded(session, [("weight", WEIGHT)])
        trial = trial_on(session, WEIGHT)
        assert _on_derived(trial, list(size_groups(trial, announced(trial))), notes) is None
    assert any("refused with" in note for note in notes)
    assert any(note.startswith("passed on derived shapes ") for note in notes)


@pytest.mark.usefixtures("frozen")
def test_a_finding_far_from_the_announced_sizes_counts_where_it_comes_again_and_the_reference_is_exact() -> None:
    with against(honest) as session:
        assert loaded(session, [("weight", WEIGHT)])
        trial = trial_on(session, WEIGHT + 1.0)
        assert _again(trial, list, 9, "here") is None  # nothing is known of the reference's error
        trial.state.accuracy.scales_on = lambda *_given: (ErrorScale(),)
        trial.state.accuracy.is_rounding_noise = lambda *_given: True
        assert _again(trial, list, 9, "here") is None
        trial.state.accuracy.is_rounding_noise = lambda *_given: False
        finding = _again(trial, list, 9, "here")
        assert finding is not None
        assert finding.detail.startswith("here: the output")
        assert _again(trial, lambda _tensors: None, 9, "here") is None
        trial.state.expected = trial.state.problem.run = lambda arguments: Answer.of(arguments[0] * WEIGHT)
        assert _again(trial, list, 9, "here") is None


def test_each_dimension_becomes_longer_than_sixteen_bits_count_while_the_others_are_short(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(generalization, "LONG_S", 60.0)
    trial = trial_on(None, WEIGHT)  # type: ignore[arg-type]
    shapes = [tuple(arguments[0].shape) for arguments, _ in _long(trial, [((0, 0),), ((0, 1),)])]
    assert sorted(min(shape) for shape in shapes) == [4, SHORT]  # four columns are few enough
    assert all(LONG[0] <= max(shape) < LONG[1] for shape in shapes)


def test_a_dimension_grows_only_as_long_as_the_reference_takes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generalization, "LONG_S", 60.0)

    def up_to_1000(arguments: list[Any]) -> Answer:
        if arguments[0].shape[0] > 1000:
            raise Refused("too many rows", "give fewer")
        return Answer.of(arguments[0])

    trial = trial_on(None, WEIGHT)  # type: ignore[arg-type]
    trial.state.expected = up_to_1000
    ((arguments, change),) = _long(trial, [((0, 0),)])
    assert arguments[0].shape == (320, 4)  # 80, four times
    assert change is not None
    again = change([torch.rand(80, 4)])
    assert again is not None
    assert again[0].shape == (320, 4)


@pytest.mark.parametrize(("most", "shapes"), [(20, [(4, 80)]), (4, [])])
def test_sizes_are_exchanged_where_neither_is_far_larger(
    monkeypatch: pytest.MonkeyPatch, most: int, shapes: list[tuple[int, ...]]
) -> None:
    monkeypatch.setattr(generalization, "MOST_EXCHANGED", most)
    with against(honest) as session:
        trial = trial_on(session, WEIGHT)
        calls = list(_exchanged(trial, [[(0, 0)], [(0, 1)]]))
    assert [tuple(arguments[0].shape) for arguments, _ in calls] == shapes


def test_a_dimension_is_far_longer_than_a_number_in_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generalization, "NAMED_S", 60.0)
    trial = trial_on(None, WEIGHT)  # type: ignore[arg-type]
    trial.request.source = "static float e[1 << 17];"
    ((arguments, _),) = _long(trial, [((0, 0),)])
    assert arguments[0].shape == (LONG_BYTES // 16, 4)  # a row has 16 bytes


def test_sizes_that_may_broadcast_are_said_to_have_stayed() -> None:
    trial = trial_on(None, WEIGHT)  # type: ignore[arg-type]
    trial.draw = lambda *_given: [torch.rand(1, 8, 16), torch.rand(1, 8, 1)]
    trial.state.problem.argument_names = ("x", "bias")

    def total(arguments: list[Any]) -> Answer:
        if arguments[0].shape[1:] != arguments[1].shape[1:] and 1 not in arguments[1].shape[1:]:
            raise Refused("sizes differ", "give equal ones")
        return Answer.of(arguments[0] + arguments[1])

    trial.state.expected = total
    _tell_unchanged(trial, list(size_groups(trial, announced(trial))))
    (note,) = trial.notes
    assert note.startswith("PROVEN FOR THE ANNOUNCED SIZES OF `x` (dimension 0: 1), `bias` (dimension 0: 1)")


def bags() -> list[torch.Tensor]:
    cuts = torch.randperm(255)[:63].sort().values + 1
    offsets = torch.cat((torch.zeros(1, dtype=torch.long), cuts, torch.tensor([256])))
    return [torch.randn(100, 4), torch.randint(0, 100, (256,)), offsets]


def means(table: torch.Tensor, index: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    return functional.embedding_bag(index, table, offsets, mode="mean", include_last_offset=True)


def trial_on_bags(forward: Any) -> Any:
    trial = trial_on(None, WEIGHT)  # type: ignore[arg-type]
    trial.draw = lambda *_given: bags()
    trial.state.place = SimpleNamespace(is_gpu=False)
    trial.state.problem.argument_names = ("table", "index", "offsets")

    def expected(arguments: list[Any]) -> Answer:
        try:
            return Answer.of(forward(*arguments))
        except (RuntimeError, IndexError) as error:
            raise Refused(str(error), "") from None

    trial.state.expected = trial.state.problem.run = expected
    return trial


@pytest.mark.parametrize(
    ("forward", "has_more"), [(means, True), (lambda *given: means(*given)[:64] if len(given[2]) > 64 else None, False)]
)
def test_rows_are_added_beside_offsets_where_the_reference_does_not_ignore_them(
    monkeypatch: pytest.MonkeyPatch, forward: Any, has_more: bool
) -> None:
    monkeypatch.setattr(generalization, "LONG_S", 60.0)
    trial, found = trial_on_bags(forward), index_structure(bags())
    assert found is not None
    calls = list(_other_rows(trial, announced(trial), found))
    sizes = [arguments[2].numel() - 1 for arguments, _ in calls if arguments[2].numel() > 65]
    assert sizes == ([2 * 64, 128 * 64] if has_more else [])
    assert [change is not None for _, change in calls if change] == ([True] if has_more else [])


def test_indices_reach_the_end_of_a_table_that_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generalization, "LONG_S", 60.0)
    trial = trial_on_bags(means)
    ((arguments, change),) = _long(trial, [((0, 0),)])
    assert int(arguments[1].max()) > 0.9 * arguments[0].shape[0] > 0.9 * LONG[0]
    assert change is not None
    trial = trial_on_bags(lambda table, index, offsets: means(table, index.clamp(max=99), offsets).sum(dim=0))
    assert len(list(_long(trial, [((0, 0),)]))) == 1


def test_sizes_beside_offsets_that_stayed_are_named() -> None:
    trial = trial_on_bags(means)
    groups = list(size_groups(trial, announced(trial)))
    _tell_unchanged(trial, groups)
    assert not trial.notes  # rows and the table's sizes all change

    def of_these(table: torch.Tensor, index: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        return means(table, index, offsets) + torch.zeros(64, 1)

    trial = trial_on_bags(of_these)
    _tell_unchanged(trial, groups)
    (note,) = trial.notes
    assert note.startswith("PROVEN FOR THE ANNOUNCED SIZES OF `offsets` (dimension 0: 65)")


def test_a_loop_takes_ten_thousand_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generalization, "LOOP_S", 60.0)
    trial = trial_on(None, WEIGHT)  # type: ignore[arg-type]
    trial.state.analysis = SimpleNamespace(operators=[SimpleNamespace(target="aten.add.Tensor")] * 80)
    ((arguments, _),) = _long(trial, [((0, 0),)])
    assert LOOP[0] <= arguments[0].shape[0] < LOOP[1]


def test_more_truths_are_counted_than_a_float_can_count() -> None:
    trial = trial_on(None, WEIGHT)  # type: ignore[arg-type]
    state = trial.state
    trial.draw = lambda *_given: [torch.rand(80, 4) < 0.5]
    state.traits.names, state.metas = {"sum"}, lambda _number: [TensorMeta.of(torch.zeros((), dtype=torch.int64))]
    state.expected = state.problem.run = lambda arguments: Answer.of(arguments[0].sum(dim=0))
    ((arguments, change),) = _counted(trial, [((0, 0),), ((0, 1),)])
    assert int(arguments[0].sum()) == arguments[0].shape[0] > MOST_COUNTED
    assert arguments[0].shape[1] == 1
    assert change is not None
    state.traits.names = {"add"}
    assert not list(_counted(trial, [((0, 0),)]))


@pytest.mark.parametrize(
    ("fault", "wall_s", "may_be"),
    [
        (FaultKind.HUNG, 20.0 / SLOWER, True),
        (FaultKind.HUNG, 5.0 / SLOWER, False),
        (FaultKind.RAISED, 0.0, True),
    ],
)
def test_a_call_that_did_not_end_may_be_slow_where_shorter_ones_say_so(
    fault: FaultKind, wall_s: float, may_be: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = list[int]()

    def call(slot: Any) -> Any:
        sizes.append(slot.size)
        if slot.size > 1 << 10:
            raise RunnerFault(fault, "no answer")
        return SimpleNamespace(wall_s=wall_s)

    @contextlib.contextmanager
    def opened(_trial: Any, _number: int, arguments: list[Any], _answer: Answer) -> Iterator[Any]:
        yield SimpleNamespace(size=arguments[0].shape[1], write=lambda _tensors: None)

    monkeypatch.setattr(generalization, "opened", opened)
    session: Any = SimpleNamespace(call=call, call_limit_s=10.0)
    trial = trial_on(session, WEIGHT)
    trial.load_again = lambda: None
    assert _may_be_slow(trial, [torch.rand(1, 1 << 18)], 0) is may_be
    assert sizes[0] == 1 << 14
    assert fault is FaultKind.RAISED or set(sizes[1:]) == {1 << 10}
