import pytest
import torch

from services.domain.problems import Problem
from workers.referee.errors import Refused
from workers.referee.problem import ReferenceProblem
from workers.referee.validation import examine, load

GOOD = """import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) + 1

def get_inputs():
    return [torch.randn(16, 16)]

def get_init_inputs():
    return []
"""


def problem(source: str) -> Problem:
    return Problem(name="p", source=source, path="p.py")


def refused(source: str) -> Refused:
    with pytest.raises(Refused) as caught:
        examine(load(problem(source), lambda _what, _line: None), lambda _what, _line: None)
    return caught.value


def test_a_good_problem_is_loaded_and_examined() -> None:
    reference = load(problem(GOOD), lambda _what, _line: None)
    examine(reference, lambda _what, _line: None)
    assert reference.line_of("Model.forward") == 4


def test_the_same_seed_draws_the_same_inputs() -> None:
    reference = ReferenceProblem(problem(GOOD))
    first, again, other = (reference.make_inputs(0, seed)[0] for seed in (1, 1, 2))
    assert bool((first == again).all())
    assert not bool((first == other).all())


@pytest.mark.parametrize(
    ("old", "new", "reason", "line"),
    [
        ("torch.relu(x) + 1", "torch.relu(x) +", "syntax error", 5),
        ("class Model(", "class Other(", "defines no Model", None),
        ("def get_inputs", "def inputs", "defines no get_inputs", None),
        ("torch.relu(x) + 1", "torch.relu(x, 3, 4, 5)", "raised TypeError", 5),
        ("torch.relu(x) + 1", "torch.rand_like(x)", "not deterministic", 4),
        ("torch.relu(x) + 1", "torch.log(-x.abs())", "not finite", 4),
        ("torch.relu(x) + 1", "torch.ones(3)", "does not depend", 4),
        ("torch.relu(x) + 1", "x * 0 + 1", "does not depend", 4),
        ("torch.relu(x) + 1", "3", "no tensor", 4),
        ("torch.relu(x) + 1", "x.mean() * torch.ones(9)", "constant", 4),
        ("torch.randn(16, 16)", "torch.ones(16, 16)", "same values under every seed", 7),
        ("return [torch.randn(16, 16)]", "raise SystemExit(0)", "raised SystemExit", 8),
        ("return [torch.randn(16, 16)]", "return [object()]", "cannot be passed", 7),
        ("torch.randn(16, 16)", "torch.empty(1 << 60)", "ran out of memory|raised RuntimeError", 8),
        ("return []", "return [3]", "raised TypeError", 3),
    ],
)
def test_an_unusable_problem_is_refused_with_reason_remedy_and_line(
    old: str, new: str, reason: str, line: int | None
) -> None:
    refusal = refused(GOOD.replace(old, new))
    assert any(part in refusal.reason for part in reason.split("|")), refusal.reason
    assert refusal.remedy
    assert refusal.line == line


def test_a_problem_with_unreadable_tolerances_is_refused_with_the_line() -> None:
    refusal = refused(GOOD + "\nTOLERANCE = {'float32': 3}\n")
    assert "TOLERANCE" in refusal.reason
    assert refusal.line == 13


def test_parameters_of_one_value_get_others_for_a_while() -> None:
    reference = ReferenceProblem(problem(NORM))
    usual = {name: tensor.clone() for name, tensor in reference.state()}
    with reference.other_parameters() as has_any:
        others = dict(reference.state())
        assert has_any
        assert bool((others["norm.weight"] >= 0.6).all())
        assert bool((others["norm.running_var"] >= 0.6).all())
        assert 0.0 < float(others["norm.bias"].abs().max()) <= 0.5
        assert torch.equal(others["linear.weight"], usual["linear.weight"])
        assert torch.equal(others["mask"], usual["mask"])
    assert all(torch.equal(tensor, usual[name]) for name, tensor in reference.state())


def test_tensors_that_a_reference_makes_are_of_double_precision_in_its_exact_run() -> None:
    exact = ReferenceProblem(problem(GOOD.replace("relu(x) + 1", "zeros(16, 16).add_(x)"))).run_double(
        [torch.ones(16, 16)]
    )
    assert exact is not None
    assert exact.dtype is torch.float64
    assert torch.zeros(1).dtype is torch.float32


NORM = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.linear = torch.nn.BatchNorm1d(8).eval(), torch.nn.Linear(8, 8)
        self.register_buffer("mask", torch.ones(8))

    def forward(self, x):
        return self.norm(self.linear(x)) * self.mask

def get_inputs():
    return [torch.randn(4, 8)]
"""
