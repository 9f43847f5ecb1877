"""Structure that all draws share, and lists of other lengths, against a real runner."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from tests.unit.workers.referee.boundary.test_runner_client import DOUBLE, against, honest
from tests.unit.workers.referee.gates.checks.test_surroundings import on_trial
from workers.ipc.tensors import TensorMeta
from workers.referee.comparison.output_structure import Answer
from workers.referee.comparison.tolerance import ErrorScale
from workers.referee.gates.checks.other_values import on_other_values

WEIGHTED = DOUBLE.replace("return x * self.weight", "return x.sum(dim=-1)")
IN_ORDER = WEIGHTED.replace("x.sum(dim=-1)", "x[:, -1] - x[:, 0]")
BY_COUNT = WEIGHTED.replace("(self, x)", "(self, x, m)").replace(
    "x.sum(dim=-1)", "torch.where(torch.arange(4) < m.sum(dim=-1, keepdim=True), x, 0.0).sum(dim=-1)"
)
REFUSES = BY_COUNT.replace(
    "return torch", "assert bool((m[:, 1:] <= m[:, :-1]).all()), 'a prefix'\n        return torch"
)
THREE = WEIGHTED.replace("x.sum(dim=-1)", "x[0] + x[1] + x[min(2, len(x) - 1)]")


def ranges(arguments: list[Any]) -> torch.Tensor:
    x: torch.Tensor = arguments[0]
    return x.amax(dim=-1) - x.amin(dim=-1)


def masked(arguments: list[Any]) -> torch.Tensor:
    return torch.where(arguments[1], arguments[0], 0.0).sum(dim=-1)


def summed(arguments: list[Any]) -> torch.Tensor:
    return torch.stack(arguments[0]).sum(dim=0)


def rows_in_order() -> list[Any]:
    return [torch.rand(300, 32).sort(dim=-1).values]


def prefixes() -> list[Any]:
    return [torch.rand(300, 4), torch.arange(4) < torch.randint(1, 5, (300, 1))]


def tried(source: str, reference: Any, draw: Any, names: tuple[str, ...]) -> tuple[str | None, list[str]]:
    """What is found, and what the report says."""
    notes = list[str]()
    with against(honest) as session:
        trial = on_trial(
            session,
            source,
            draw=lambda *_given: draw(),
            expected=lambda arguments: Answer.of(reference(arguments)),
            metas=lambda _number: [TensorMeta.of(reference(draw()))],
            unvarying=[],
            named_indices=(),
            names={"sum"},
            set_numbers=[0],
            knows_ties=False,
            analysis=SimpleNamespace(other_forms=(), inputs=(), operators=()),
            known_scales=lambda _kind: (ErrorScale(),),
            is_ill_conditioned=lambda *_given: False,
        )
        trial.state.problem.argument_names = names
        trial.state.problem.defaults = {}
        trial.state.problem.problem = SimpleNamespace(source="")
        finding = on_other_values(trial, notes)
    return None if finding is None else finding.detail, notes


def test_a_kernel_that_relies_on_the_order_of_floats_is_named() -> None:
    found, notes = tried(IN_ORDER, ranges, rows_in_order, ("times",))
    assert found is None
    assert [note.partition(":")[0] for note in notes] == ["PROVEN FOR ROWS IN ORDER IN `times` ONLY"]


def test_a_kernel_that_does_not_passes() -> None:
    source = IN_ORDER.replace("x[:, -1] - x[:, 0]", "x.amax(dim=-1) - x.amin(dim=-1)")
    assert tried(source, ranges, rows_in_order, ("times",)) == (None, ["passed on `times` without rows in order"])


def test_a_kernel_that_takes_a_mask_for_a_prefix_is_found() -> None:
    found, _ = tried(BY_COUNT, masked, prefixes, ("x", "mask"))
    assert found is not None
    assert found.startswith("`mask` without padding on one side: the output")


def test_a_kernel_may_refuse_what_lacks_a_structure() -> None:
    found, notes = tried(REFUSES, masked, prefixes, ("x", "mask"))
    assert found is None
    assert notes[0].startswith("limited: `mask` without padding on one side are refused with")


def test_a_kernel_of_three_tensors_is_found_where_there_are_more() -> None:
    found, _ = tried(THREE, summed, lambda: [[torch.rand(300, 4) for _ in range(3)]], ("states",))
    assert found is not None
    assert found.startswith("lists of 3 tensors, with one item ")
    source = THREE.replace("x[0] + x[1] + x[min(2, len(x) - 1)]", "torch.stack(x).sum(dim=0)")
    assert tried(source, summed, lambda: [[torch.rand(300, 4) for _ in range(3)]], ("states",))[0] is None
