"""A reference that names float32 is exact in float64 all the same."""

import pytest
import torch

from services.domain.problems import Problem
from workers.referee.problem.model_state import state_after
from workers.referee.problem.reference_problem import ReferenceProblem

HEAD = """import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(256))

    def forward(self, x):
"""
TAIL = """

def get_inputs():
    return [torch.randn(64, 256)]
"""


def reference(body: str) -> ReferenceProblem:
    return ReferenceProblem(Problem(name="p", source=f"{HEAD}        {body}{TAIL}", path="p.py"))


@pytest.mark.parametrize(
    "body",
    [
        "return x.float().sin()",
        "return x.to(torch.float32).sin()",
        "return x.to(dtype=torch.float32).sin()",
        "return x.type(torch.float32).sin()",
        "return torch.zeros(64, 256, dtype=torch.float32).copy_(x).sin()",
        "return torch.empty_like(x, dtype=torch.float32).copy_(x).sin().float()",
        "return x.to('cpu', torch.float32).sin()",
        "return x.to(torch.complex64).sin().real",
        "return x.cfloat().sin().real",
    ],
)
def test_named_dtypes_are_widened(body: str) -> None:
    x = torch.randn(64, 256)
    exact = reference(body).run_double([x])
    assert exact is not None
    assert exact.dtype is torch.float64
    assert torch.allclose(exact, x.double().sin(), rtol=1e-14, atol=1e-15)
    assert torch.get_default_dtype() is torch.float32


def test_sums_in_a_named_dtype_are_exact() -> None:
    x = torch.randn(64, 256)
    exact = reference("return torch.sum(x, dim=1, dtype=torch.float32), torch.softmax(x, 1, torch.float32)").run_double(
        [x]
    )
    assert exact is not None
    assert torch.allclose(exact[0], x.double().sum(1), rtol=1e-13, atol=1e-13)
    assert torch.allclose(exact[1], x.double().softmax(1), rtol=1e-13, atol=0.0)


def test_half_precision_that_is_named_is_kept() -> None:
    x = torch.randn(64, 256)
    exact = reference("return x.to(torch.bfloat16).float()").run_double([x])
    assert exact is not None
    assert exact.dtype is torch.float64
    assert torch.equal(exact, x.double().bfloat16().double())


def test_bits_are_those_of_what_is_named() -> None:
    x = torch.randn(64, 256)
    found = reference("return x.float().view(torch.int32)").run_double([x])
    assert found is not None
    assert torch.equal(found, x.view(torch.int32))


def test_what_cannot_be_widened_runs_as_it_is() -> None:
    x = torch.randn(64, 256)
    found = reference("y = x.float(); assert y.dtype is torch.float32; return y").run_double([x])
    assert found is not None
    assert torch.equal(found, x)
    assert reference("assert x.dtype is torch.float32; return x * 1").run_double([x]) is None


def test_what_a_call_leaves_is_exact_too() -> None:
    x = torch.randn(64, 256)
    problem = reference("self.seen.copy_(x.float().sin().sum(0)); return x * 2")
    assert torch.allclose(
        state_after(problem, [x], exact=True)["seen"], x.double().sin().sum(0), rtol=1e-13, atol=1e-13
    )
    assert state_after(problem, [x])["seen"].dtype is torch.float32
    assert not problem.model.get_buffer("seen").any()
