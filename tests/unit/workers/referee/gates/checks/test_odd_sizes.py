"""Ties, zeros and marks beside whole tiles, against a real runner."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.unit.workers.referee.boundary.test_runner_client import against, honest
from tests.unit.workers.referee.gates.checks.test_mixed_calls import DOUBLE, REFUSES, on_trial
from workers.referee.comparison.output_structure import Answer
from workers.referee.comparison.tolerance import ErrorScale
from workers.referee.gates.checks.odd_sizes import VECTOR, _odd, on_odd_sizes
from workers.referee.gates.checks.size_groups import announced, size_groups
from workers.referee.inputs.distributions import PADDED, Distribution, drawn
from workers.referee.inputs.unvarying import unvarying

ZEROS_IN_TILES = DOUBLE.replace("return 2.0 * x", "return torch.where((x == 0) & (len(x) % 8 > 0), 9.0, 2.0 * x)")
MASK_IN_TILES = DOUBLE.replace("(self, x)", "(self, x, mask)").replace(
    "return 2.0 * x", "return 2.0 * x * (mask if len(x) % 8 == 0 else 1)"
)


def found_in(trial: Any) -> tuple[str | None, list[str]]:
    notes: list[str] = []
    finding = on_odd_sizes(trial, list(size_groups(trial, announced(trial))), notes)
    return None if finding is None else finding.detail, notes


def trial_with(session: Any, source: str, *, fit: bool = True) -> Any:
    trial = on_trial(session, source, 40, 24)
    state = trial.state
    state.tried.usable = lambda _number: [Distribution(name="own", transform=None), PADDED]
    state.changed = drawn
    state.accuracy.can_judge = lambda *_given: True
    state.accuracy.fit_scales = lambda *_given: (ErrorScale(),) if fit else None
    state.traits.named_indices, state.traits.knows_ties = (), False
    state.place = type("Place", (), {"is_gpu": False})
    state.problem.is_step = True  # nothing is close to anything
    return trial


@pytest.mark.parametrize(
    ("source", "fit", "is_wrong"), [(DOUBLE, True, False), (ZEROS_IN_TILES, True, True), (ZEROS_IN_TILES, False, False)]
)
def test_rows_of_zeros_come_where_no_size_is_that_of_whole_tiles(source: str, fit: bool, is_wrong: bool) -> None:
    with against(honest) as session:
        found, notes = found_in(trial_with(session, source, fit=fit))
    if is_wrong:
        assert found is not None
        assert "padded values: " in found
    else:
        assert found is None
        assert [note.partition(",")[0].split()[:4] for note in notes] == [["passed", "on", "derived", "shapes"]]


def test_no_remainder_is_a_single_element() -> None:
    with against(honest) as session:
        trial = trial_with(session, DOUBLE)
        groups = list(size_groups(trial, announced(trial)))
        calls = [_odd(trial, groups) for _ in range(40)]
    sizes = {size for call in calls if call is not None for size in call[0].shape}
    assert sizes
    assert {size % VECTOR for size in sizes} <= {3, 5, 7}


def test_who_refuses_odd_sizes_passes() -> None:
    with against(honest) as session:
        found, notes = found_in(trial_with(session, REFUSES))
    assert found is None
    assert len(notes) == 1
    assert "refused with" in notes[0]


@pytest.mark.parametrize("source", [MASK_IN_TILES, MASK_IN_TILES.replace("len(x) % 8 == 0", "True")])
def test_masks_let_nothing_through_at_odd_sizes(source: str) -> None:
    with against(honest) as session:
        trial = trial_with(session, source)
        trial.state.tried.usable = lambda _number: ()
        trial.draw = trial.state.draw = lambda *_given: [torch.rand(40, 24), torch.ones(40, 24, dtype=torch.bool)]
        trial.state.unvarying = unvarying(trial.draw() for _ in range(3))
        trial.state.expected = lambda arguments: Answer.of(2.0 * arguments[0] * arguments[1])
        trial.state.traits.names, trial.state.problem.argument_names = {"mul"}, ("x", "mask")
        found, notes = found_in(trial)
    assert (found is not None) == ("% 8" in source)
    assert found is not None or notes
