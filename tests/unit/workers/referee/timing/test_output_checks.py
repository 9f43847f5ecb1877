"""What a timed call returned is looked at beside what the baseline returned for the same values."""

from __future__ import annotations

import pytest
import torch

from workers.ipc.placement import TensorDevice
from workers.ipc.tensors import TensorMeta
from workers.referee.boundary.slots import POISON, Slot
from workers.referee.comparison.call_outputs import Fetched, Output
from workers.referee.comparison.tolerance import tolerances
from workers.referee.timing import output_checks as beside
from workers.referee.timing.output_checks import BLOCKS, Beside


def returned(*values: torch.Tensor) -> Fetched:
    outputs = [Output(kind="tensor", meta=TensorMeta.of(one), alias=None, value=one) for one in values]
    return Fetched(outputs=tuple(outputs), structure=None, wall_s=0.0)


def test_a_rounding_apart_agrees_and_other_values_do_not() -> None:
    looking, values = Beside(tolerances(None)), torch.randn(1000)

    assert looking.agrees(returned(values * (1 + 1e-7)), returned(values))
    assert not looking.agrees(returned(torch.randn(1000)), returned(values))


def test_infinities_and_nan_agree_with_themselves_alone() -> None:
    looking, values = Beside(tolerances(None)), torch.tensor([float("inf"), float("nan"), 1.0])

    assert looking.agrees(returned(values.clone()), returned(values))
    assert not looking.agrees(returned(torch.tensor([float("inf"), 0.0, 1.0])), returned(values))
    assert not looking.agrees(returned(torch.tensor([-float("inf"), float("nan"), 1.0])), returned(values))


def test_whole_numbers_and_shapes_have_to_be_the_same() -> None:
    looking, codes = Beside(tolerances(None)), torch.arange(10)

    assert looking.agrees(returned(codes.clone()), returned(codes))
    assert not looking.agrees(returned(codes + (codes == 3)), returned(codes))
    assert not looking.agrees(returned(codes.view(2, 5)), returned(codes))
    assert not looking.agrees(returned(codes, codes), returned(codes))


def test_what_was_judged_right_is_looked_over_from_then_on() -> None:
    looking, values = Beside(tolerances(None)), torch.randn(1000)
    rough = values * (1 + 1e-3)
    assert not looking.agrees(returned(rough), returned(values))

    looking.was_right()

    assert looking.agrees(returned(rough), returned(values))
    assert not looking.agrees(returned(values * 2), returned(values))


def test_half_of_a_large_output_is_never_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "BLOCK", 64)
    values = torch.randn(4 * BLOCKS * 64)
    half = values.clone()
    half[: half.numel() // 2] = 0.0

    assert not any(Beside(tolerances(None)).agrees(returned(half), returned(values)) for _ in range(20))


def test_cotangents_are_not_in_a_slot_before_they_are_delivered() -> None:
    given = [torch.randn(3, 4), torch.randn(3, 4), torch.tensor(2.0)]
    slot = Slot(0, given, [TensorMeta.of(given[0])], TensorDevice())
    slot.late = 2
    try:
        for _ in range(2):
            slot.write(given)
            assert torch.equal(slot.inputs.tensors[0], given[0])
            late = [tensor.view(-1).view(torch.uint8) for tensor in slot.inputs.tensors[1:]]
            assert all(bool((one == POISON).all()) for one in late)

            slot.deliver()
            assert all(torch.equal(one, two) for one, two in zip(slot.inputs.tensors, given, strict=True))
    finally:
        slot.close()
