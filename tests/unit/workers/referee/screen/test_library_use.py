"""Library operators are found on the hot path in any spelling; names of a module's own are nobody's business."""

import pytest

from workers.referee.screen.screen import screen

HEAD = """import functools, itertools, operator, contextlib
import numpy
import torch
import torch.nn.functional as F
import kernelwright_rt
lib = kernelwright_rt.compile_cpp('extern "C" void run(const float* x, float* y, int64_t n) { y[0] = x[0]; }')
"""
MODEL = """
class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        y = torch.empty_like(a)
        lib.run(a, y, a.numel())
        BODY
        return y
"""
NOTHING: frozenset[str] = frozenset()
SPELLINGS = [
    "y = operator.matmul(a, b)",
    "y = operator.imatmul(a.numpy(), b.numpy())",
    "y = b.__rmatmul__(a)",
    "y = torch.Tensor.__matmul__(a, b)",
    "y @= b",
    "y = (lambda p, q: p @ q)(a, b)",
    "y = [p @ b for p in [a]][0]",
    "y = functools.partial(torch.mm)(a, b)",
    "y = functools.reduce(operator.matmul, [a, b])",
    "y = list(map(torch.mm, [a], [b]))[0]",
    "y = list(itertools.starmap(torch.mm, [(a, b)]))[0]",
    "y = (times := torch.mm)(a, b)",
    "y = (torch.mm if a.numel() else torch.bmm)(a, b)",
    "y = {'times': torch.mm}['times'](a, b)",
    "y = torch.mm.__call__(a, b)",
    "y = getattr(a, 'mm')(b)",
    "y = getattr(a, 'm' + 'm')(b)",
    "y = getattr(a, f'{chr(109)}m')(b)",
    "times = a.mm; y = times(b)",
    "y = [a.mm][0](b)",
    "y = max([b], key=a.mv)",
    "y = torch.vmap(torch.dot)(a, b)",
    "y = torch.nn.Softmax(dim=-1)(a)",
    "y = torch.nn.Sequential(torch.nn.Linear(3, 3))(a)",
    "y = torch.nn.Linear.forward(self, a)",
    "y = torch.fft.fft(a)",
    "y = F.softmax(a, -1)",
]


@pytest.mark.parametrize("body", SPELLINGS)
def test_an_operator_is_found_in_any_spelling(body: str) -> None:
    remarks = screen(HEAD + MODEL.replace("BODY", body), NOTHING)
    assert any(remark.hard for remark in remarks)


def test_an_operator_is_found_in_a_pattern() -> None:
    body = "match a:\n            case torch.Tensor(mm=times):\n                y = times(b)"
    assert screen(HEAD + MODEL.replace("BODY", body), NOTHING)


KEPT = {
    "an attribute of a class": ("class Parts:\n    run = torch.mm\n", "y = Parts.run(a, b)"),
    "a table": ("TABLE = {'mm': torch.mm}\n", "y = TABLE['mm'](a, b)"),
    "a lambda": ("times = lambda p, q: p @ q\n", "y = times(a, b)"),
    "a method that Python calls": ("class Sum:\n    def __add__(s, o):\n        return s.x @ o\n", "y = Sum() + b"),
    "a layer of its own": (
        "class Layer(torch.nn.Module):\n    def forward(self, a, b):\n        return a @ b\nlayer = Layer()\n",
        "y = layer(a, b)",
    ),
}


@pytest.mark.parametrize("name", KEPT)
def test_an_operator_that_is_kept_elsewhere_is_found(name: str) -> None:
    before, body = KEPT[name]
    assert any(remark.hard for remark in screen(HEAD + before + MODEL.replace("BODY", body), NOTHING))


@pytest.mark.parametrize(
    "body", ["y = operator.matmul(a, b)", "y = a.__matmul__(b)", "y = functools.partial(torch.mm)(a, b)"]
)
def test_a_permitted_operator_may_be_named(body: str) -> None:
    assert screen(HEAD + MODEL.replace("BODY", body), frozenset({"matmul"})) == []


HONEST = {
    "a kernel handed on": ("", "functools.partial(lib.mm, a)(b, y)"),
    "a method of an own class": ("class Own:\n    def dot(s, a):\n        return a\nown = Own()\n", "y = own.dot(a)"),
    "a field that is given to a kernel": ("", "lib.run(a, y, a.norm)"),
    "a number of an own object": ("", "plan = lib.plan(a); lib.run(a, y, plan.inner)"),
    "an unused class of the reference": (
        "class Model(torch.nn.Module):\n    def forward(self, a, b):\n        return a @ b\n",
        "pass",
    ),
    "a question": ("", "assert not isinstance(a, torch.nn.Linear)"),
    "a table made at import": ("TABLE = torch.softmax(torch.ones(3), 0)\n", "lib.run(TABLE, y, 3)"),
    "a kernel by a computed name": ("", "getattr(lib, f'run_{a.numel()}')(a, y)"),
    "a tensor's attribute by a text": ("", "lib.run(a, y, getattr(a, 'ndim'))"),
}


@pytest.mark.parametrize("name", HONEST)
def test_what_only_looks_like_an_operator_is_left_alone(name: str) -> None:
    before, body = HONEST[name]
    assert screen(HEAD + before + MODEL.replace("BODY", body), NOTHING) == []
