"""Whole models: which operators belong together, what the parts look like as problems, and what cannot be cut up."""

from __future__ import annotations

import pytest
import torch

from services.domain.assembly import assembled
from services.domain.models import ModelProfile
from services.domain.problems import Problem
from services.problems.lint import lint_problem
from tests.doubles import a_device
from workers.referee.errors import Refused
from workers.referee.problem.reference_problem import ReferenceProblem
from workers.referee.whole_model.profile import profiled
from workers.runner.model import copy_state

pytestmark = pytest.mark.integration

BLOCKS = """import torch
import torch.nn.functional as F


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.qk = torch.nn.Linear(width, width)
        self.down = torch.nn.Linear(width, width)
        self.register_buffer("mask", torch.triu(torch.ones(16, 16, dtype=torch.bool), 1))

    def forward(self, x):
        q = self.qk(self.norm(x))
        weights = (q @ q.transpose(1, 2) * 0.25).masked_fill(self.mask, float("-inf")).softmax(-1)
        return x + self.down(F.gelu(weights @ x))


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.blocks = torch.nn.ModuleList([Block(width), Block(width)])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x * torch.tensor(0.5)


def get_inputs():
    return [torch.randn(2, 16, 32)]


def get_init_inputs():
    return [32]
"""


def reference(source: str) -> ReferenceProblem:
    return ReferenceProblem(Problem(name="blocks", source=source, path="blocks.py"))


def profile_of(source: str) -> ModelProfile:
    return profiled(reference(source), a_device(), lambda _what, _line: None)


@pytest.fixture(scope="module")
def blocks() -> ModelProfile:
    return profile_of(BLOCKS)


def test_equal_computations_in_different_layers_are_one_part(blocks: ModelProfile) -> None:
    by_operators = {part.operators: part for part in blocks.parts}
    softmax = by_operators["mul", "masked_fill", "softmax"]
    assert (softmax.count, softmax.lines) == (2, (15,))
    assert by_operators["gelu",].count == 2
    assert by_operators["linear",].count == 4
    assert by_operators["add", "layer_norm"].count == 1
    assert abs(sum(part.share for part in blocks.parts) - 1.0) < 0.5
    assert [part.number for part in blocks.parts] == list(range(1, len(blocks.parts) + 1))
    ceilings = [part.ceiling for part in blocks.parts]
    assert ceilings == sorted(ceilings, reverse=True)


def test_each_part_is_a_problem_whose_inputs_have_the_model_s_shapes_and_masks(blocks: ModelProfile) -> None:
    for part in blocks.parts:
        assert part.source is not None, part.note
        problem = Problem(name=part.name, source=part.source, path=f"{part.name}.py")
        lint_problem(problem)
        loaded = ReferenceProblem(problem)
        first, again, other = (loaded.make_inputs(0, seed) for seed in (1, 1, 2))
        assert all(torch.equal(one, two) for one, two in zip(first, again, strict=True))
        assert any(not torch.equal(one, two) for one, two in zip(first, other, strict=True))
        assert torch.isfinite(loaded.run(first)[0]).all()
    softmax = next(part for part in blocks.parts if "softmax" in part.operators)
    assert softmax.source is not None
    scores, mask = ReferenceProblem(Problem(name="s", source=softmax.source)).make_inputs(0, 1)
    assert scores.shape == (2, 16, 16)
    assert torch.equal(mask, torch.triu(torch.ones(16, 16, dtype=torch.bool), 1))


def test_the_outline_computes_the_model_with_its_own_state(blocks: ModelProfile) -> None:
    original = reference(BLOCKS)
    space: dict[str, object] = {}
    exec(compile(assembled(blocks.outline, {}, "t"), "t.py", "exec"), space)
    kind = space["ModelNew"]
    assert isinstance(kind, type)
    model = kind(32)
    names, tensors = zip(*original.state(), strict=True)
    assert copy_state(model, names, tensors) is not None
    model.load_state_dict(original.model.state_dict())
    (x,) = original.make_inputs(0, 7)
    torch.testing.assert_close(model(x), original.run([x]))


@pytest.mark.parametrize(
    ("line", "by", "number", "words"),
    [
        ("return x * torch.tensor(0.5)", "return x if x.sum() > 0 else -x", 27, "cannot be traced"),
        ("return x * torch.tensor(0.5)", "return {'x': x}", 24, "forward returns a dict"),
    ],
)
def test_a_model_that_cannot_be_cut_up_is_refused_at_its_line(line: str, by: str, number: int, words: str) -> None:
    with pytest.raises(Refused, match=words) as caught:
        profile_of(BLOCKS.replace(line, by))
    assert caught.value.line == number
    assert caught.value.remedy
