"""Models put together from text: kernels' names are kept apart, and only what was swapped changes."""

from __future__ import annotations

import re

import pytest
import torch

from services.domain.assembly import assembled, kept_operators, separated
from services.domain.models import ModelBlock, ModelOutline, StateEntry

KERNEL = '''"""doubles: SOURCE is not a name here"""
from __future__ import annotations

import math
import torch

SOURCE = "SOURCE scale"
TUNABLES = {"BLOCK": [2]}
scale = 2.0


def helper(x, scale=scale):
    return x * scale


class Base(torch.nn.Module):
    scale = 3.0

    def factor(self):
        return scale * math.cos(0.0)


class ModelNew(Base):
    def forward(self, x):
        global scale
        text = f"{SOURCE!r}:{scale}"
        pick = [scale for scale in (1.0,)]
        assert text == "'SOURCE scale':2.0" and pick == [1.0] and self.scale == 3.0
        scale = 2.0
        return helper(x) * (lambda scale: scale)(1.0) * self.factor() / TUNABLES["BLOCK"][0]
'''
OUTLINE = ModelOutline(
    name="two",
    inputs=("x",),
    shapes=(("x", (3,)),),
    state=(StateEntry(path="layers.0.weight", shape=(3,), dtype="float32", is_buffer=False),),
    constants=(("constant_0", "torch.tensor(1.5, dtype=torch.float32)"),),
    blocks=(
        ModelBlock(part=1, lines=("a = torch.mul(x, 2.0)",), arguments=("x",), results=("a",), operators=("mul",)),
        ModelBlock(
            part=None,
            lines=('b = torch.sub(a, self.layers._modules["0"].weight)',),
            arguments=("a", 'self.layers._modules["0"].weight'),
            results=("b",),
            operators=("sub",),
        ),
        ModelBlock(
            part=2, lines=("c = torch.add(b, self.constant_0)",), arguments=("b",), results=("c",), operators=("add",)
        ),
    ),
    result="c",
)


def built(source: str) -> torch.nn.Module:
    space: dict[str, object] = {"__name__": "assembled"}
    exec(compile(source, "assembled.py", "exec"), space)
    kind = space["ModelNew"]
    assert isinstance(kind, type)
    model = kind("any", init="inputs")
    assert isinstance(model, torch.nn.Module)
    return model


def test_a_kernel_s_own_names_get_a_suffix_and_nothing_else_does() -> None:
    future, body = separated(KERNEL, "_k")
    assert future == ("from __future__ import annotations",)
    assert 'SOURCE_k = "SOURCE scale"' in body
    assert "class ModelNew_k(Base_k):" in body
    assert "def helper_k(x, scale=scale_k):\n    return x * scale\n" in body
    assert "    scale = 3.0\n" in body
    assert "global scale_k" in body
    assert body.count("\n") == KERNEL.count("\n")


def test_the_assembled_model_computes_what_the_original_does_with_and_without_kernels() -> None:
    x, weight = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0.5, 0.5, 1.0])
    for kernels in ({}, {1: KERNEL}):
        model = built(assembled(OUTLINE, kernels, "two"))
        model.load_state_dict({"layers.0.weight": weight})
        torch.testing.assert_close(model(x), x * 2 - weight + 1.5)


def test_two_kernels_with_the_same_names_live_side_by_side() -> None:
    source = assembled(OUTLINE, {1: KERNEL, 2: KERNEL}, "two")
    model = built(source)
    model.load_state_dict({"layers.0.weight": torch.zeros(3)})
    torch.testing.assert_close(model(torch.ones(3)), torch.full((3,), 4.0))


def test_only_what_is_kept_must_be_allowed() -> None:
    assert kept_operators(OUTLINE, {}) == ("add", "mul", "sub")
    assert kept_operators(OUTLINE, {1: KERNEL}) == ("add", "sub")


def test_another_shape_is_refused_in_words() -> None:
    model = built(assembled(OUTLINE, {}, "two"))
    with pytest.raises(ValueError, match=re.escape("x must be [3], as traced, not [4]")):
        model(torch.ones(4))
