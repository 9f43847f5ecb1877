"""Parameters as no initialisation draws them."""

from __future__ import annotations

import pytest
import torch

from tests.unit.workers.referee.problem.test_reference_problem import GOOD, problem
from workers.referee.boundary.problem_messages import ModelVariant
from workers.referee.problem.reference_problem import ReferenceProblem
from workers.referee.problem.wide_parameters import wide_parameters

INIT = """    def __init__(self):
        super().__init__()
        self.gate = torch.nn.Parameter(torch.full((64,), -2.0))
        self.scale = torch.nn.Parameter(torch.tensor(2.0))
        self.square = torch.nn.Parameter(torch.randn(64, 64))
        self.tall = torch.nn.Parameter(torch.randn(64, 32))

    def forward"""
SOURCE = GOOD.replace("    def forward", INIT)


def found(
    variant: ModelVariant, width: float = 1.0, *, signed: bool = True, zeros: bool = True
) -> dict[str, torch.Tensor]:
    reference = ReferenceProblem(problem(SOURCE))
    usual = {name: tensor.clone() for name, tensor in reference.state()}
    with wide_parameters(reference, 7, variant, width, signed=signed, zeros=zeros) as has_any:
        assert has_any
        made = {name: tensor.clone() for name, tensor in reference.state()}
    assert all(torch.equal(tensor, usual[name]) for name, tensor in reference.state())
    return made


def spectrum(matrix: torch.Tensor) -> torch.Tensor:
    values: torch.Tensor = torch.linalg.svdvals(matrix)
    return values / float(values[0])


def test_spread_vectors_reach_both_ends_and_have_zeros() -> None:
    made = found(ModelVariant.SPREAD)
    assert float(made["gate"].min()) == -5.0
    assert float(made["gate"].max()) == 5.0
    assert int((made["gate"] == 0).sum()) == 8
    assert float(made["scale"]) == 5.0


def test_grown_vectors_are_up_to_ten_times_as_large() -> None:
    made = found(ModelVariant.GROWN, 0.5)
    assert float(made["gate"].abs().max()) == pytest.approx(10.0)
    assert float(made["scale"]) == pytest.approx(10.0)


def test_vectors_keep_their_signs() -> None:
    made = found(ModelVariant.SPREAD, signed=False, zeros=False)
    assert float(made["gate"].max()) < 0.0


def test_spread_matrices_are_nearly_of_rank_one() -> None:
    made = found(ModelVariant.SPREAD)
    assert float(spectrum(made["square"])[1]) < 0.4
    assert int((made["square"] == 0).sum()) == 16


def test_a_random_matrix_grows_vectors_as_much_as_one_of_rank_one() -> None:
    made = found(ModelVariant.SPREAD)
    largest = float(torch.linalg.svdvals(made["tall"])[0])
    assert 0.5 < largest / (64**0.5 + 32**0.5) < 2.0


def test_grown_matrices_are_nearly_diagonal_with_a_faint_row_and_column() -> None:
    made = found(ModelVariant.GROWN, zeros=False)
    square, tall = made["square"], made["tall"]
    assert float(square.diagonal().median()) == pytest.approx(8.0, rel=0.2)
    assert float((square - square.diagonal().diag()).abs().max()) < 1.0
    assert float(tall.norm(dim=0).min() / tall.norm(dim=0).max()) < 0.01
    assert float(tall.norm(dim=1).min() / tall.norm(dim=1).max()) < 0.01


def test_a_model_without_parameters_has_none() -> None:
    with wide_parameters(
        ReferenceProblem(problem(GOOD)), 7, ModelVariant.SPREAD, 1.0, signed=True, zeros=True
    ) as has_any:
        assert not has_any
