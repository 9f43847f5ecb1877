"""What the trace of a module says: operators, shapes, bytes, and why there is none."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from services.domain.problems import ProblemAnalysis, TensorSpec, ValueRef
from workers.referee.costs.analysis import analyse

pytestmark = pytest.mark.integration


def analysed(module: nn.Module, *inputs: object, init: tuple[object, ...] = ()) -> ProblemAnalysis:
    return analyse(module, inputs, init, copy_bandwidth_gb_s=10.0, peak_gflop_s=100.0, size_numbers=False)


class Inner(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(8))


class Affine(nn.Module):
    shift: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.inner = Inner()
        self.register_buffer("shift", torch.zeros(8))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.inner.weight + self.shift


class Plain(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x)


class Several(nn.Module):
    def forward(self, x: Tensor, factor: float) -> tuple[Tensor, Tensor]:
        values, _ = torch.max(x * factor, dim=1)
        return values, x * torch.tensor([1.0, 2.0, 3.0])


class Branching(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x if x.sum() > 0 else -x


class Counting(nn.Module):
    calls: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return x * self.calls


@pytest.fixture(scope="module")
def affine() -> ProblemAnalysis:
    return analysed(Affine(), torch.randn(4, 8))


def test_operators_come_in_order_with_references_and_shapes(affine: ProblemAnalysis) -> None:
    multiply, add = affine.operators
    assert (multiply.target, add.target) == ("aten.mul.Tensor", "aten.add.Tensor")
    assert multiply.arguments[0] == ValueRef(ref=affine.inputs[0].name)
    assert add.arguments[0] == ValueRef(ref=multiply.outputs[0].name)
    assert add.outputs[0].shape == (4, 8)
    assert affine.outputs == (add.outputs[0].name,)


def test_parameters_and_buffers_carry_their_paths(affine: ProblemAnalysis) -> None:
    weight, shift = affine.parameters
    assert (weight.origin, weight.is_buffer, shift.origin, shift.is_buffer) == ("inner.weight", False, "shift", True)


def test_bytes_count_what_is_read_once_and_every_output(affine: ProblemAnalysis) -> None:
    assert affine.bytes_moved == 4 * (32 + 8 + 8 + 32)
    assert affine.floor_us == pytest.approx(affine.bytes_moved / 10e3)


def test_plain_arguments_several_outputs_and_small_constants_are_kept() -> None:
    found = analysed(Several(), torch.randn(5, 3), 2.5)
    assert found.scalar_inputs == ((1, 2.5),)
    assert found.output_is_tuple
    assert len(found.outputs) == 2
    assert found.outputs[0].endswith(".0")
    (constant,) = found.constants
    assert constant.values == (1.0, 2.0, 3.0)


def test_a_strided_input_is_said_to_be_strided() -> None:
    (spec,) = analysed(Plain(), torch.randn(4, 8).t()).inputs
    assert isinstance(spec, TensorSpec)
    assert (spec.shape, spec.contiguous) == ((8, 4), False)


@pytest.mark.parametrize("module", [Branching(), Counting()])
def test_what_cannot_be_traced_is_reported_and_not_raised(module: nn.Module) -> None:
    found = analysed(module, torch.randn(4, 8))
    assert found.trace_error
    assert (found.operators, found.family) == ((), "unknown")
    assert found.bytes_moved >= 4 * 32


def test_init_inputs_are_kept_where_they_are_plain() -> None:
    assert analysed(Plain(), torch.randn(2, 2), init=(3, "a", [1, 2])).init_inputs == (3, "a", (1, 2))
    assert analysed(Plain(), torch.randn(2, 2), init=(torch.ones(1),)).init_inputs == ()


class Rows(nn.Module):
    def forward(self, table: Tensor, index: Tensor) -> Tensor:
        return torch.index_select(table, 0, index) + table[0]


def test_of_a_table_what_is_taken_counts() -> None:
    found = analysed(Rows(), torch.zeros(1000, 8), torch.arange(4))
    index, taken, output = 8 * 4, 4 * (4 * 8 + 8), 4 * 4 * 8
    assert found.bytes_moved == index + taken + output


class Picked(nn.Module):
    def forward(self, scores: Tensor, labels: Tensor) -> Tensor:
        return torch.nn.functional.nll_loss(scores, labels)


def test_of_scores_those_count_that_labels_pick() -> None:
    found = analysed(Picked(), torch.zeros(8, 1000), torch.arange(8))
    assert found.bytes_moved == 8 * 8 + 4 * 8 + 4
