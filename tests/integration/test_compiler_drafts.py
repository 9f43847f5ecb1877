"""The compiler's own C++ is made a candidate where the reference runs, and every gate judges it as any other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kernelwright.wiring.workbench import make_sandbox
from services.domain.evaluations import EvaluationReport, EvaluationRequest, Verdict
from services.domain.problems import Problem
from services.domain.validations import CompilerDraft, ValidationRequest
from tests.integrity.conftest import SHEET
from tests.repeated import evaluated
from workers.backends.cpp import CppBackend, runtime_view
from workers.evaluation.evaluator import Evaluator

pytestmark = pytest.mark.integration

NORM = """
import torch

class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)

    def forward(self, x):
        return torch.nn.functional.silu(self.norm(x))

def get_inputs():
    return [torch.randn(64, 256)]

def get_init_inputs():
    return [256]

HELD_OUT = [lambda: [torch.randn(1, 256)], lambda: [torch.randn(33, 256)]]
"""
HEAD = "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n"
TAIL = "\ndef get_inputs():\n    return [torch.randn(64, 96)]\n"


@pytest.fixture(scope="module")
def evaluator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evaluator]:
    state = tmp_path_factory.mktemp("state")
    with_sandbox = make_sandbox()
    one = Evaluator(
        with_sandbox,
        {"cpp": CppBackend(with_sandbox, state)},
        SHEET,
        views={"cpp": runtime_view},
        memory_bytes=4 << 30,
    )
    yield one
    one.close()
    with_sandbox.close()


def drafted(evaluator: Evaluator, source: str) -> CompilerDraft:
    problem = Problem(name="p", source=source, path="p.py")
    request = ValidationRequest(
        job_id="job", team_id="local", problem=problem, device="cpu", backend="cpp", baselines=("eager",), draft=True
    )
    found = evaluator.validate(request)
    assert found.refusal is None
    assert found.draft is not None
    return found.draft


def judged(evaluator: Evaluator, problem: str, source: str) -> EvaluationReport:
    return evaluated(
        evaluator,
        EvaluationRequest(
            evaluation_id="eval",
            job_id="job",
            team_id="local",
            candidate_id="cand",
            problem=Problem(name="p", source=problem, path="p.py"),
            source=source,
            device="cpu",
            backend="cpp",
            baselines=("eager",),
        ),
    )


def test_the_compiler_s_code_passes_every_gate_at_sizes_that_it_was_not_compiled_for(evaluator: Evaluator) -> None:
    draft = drafted(evaluator, NORM)
    assert draft.source is not None

    report = judged(evaluator, NORM, draft.source)

    assert [(gate.name, gate.detail) for gate in report.gates if gate.status.value != "passed"] == []
    assert report.verdict is Verdict.ACCEPTED
    assert report.gain is not None


def test_a_draft_that_computes_something_else_is_rejected_as_any_candidate(evaluator: Evaluator) -> None:
    draft = drafted(evaluator, NORM)
    assert draft.source is not None

    wrong = draft.source.replace("static_cast<float>(256.0)", "static_cast<float>(255.0)")

    report = judged(evaluator, NORM, wrong)

    assert wrong != draft.source
    assert report.verdict is Verdict.REJECTED


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("        return x * 2 if x.sum() > 0 else x + 1", "cannot take it in one graph: Data-dependent branching"),
        ("        return torch.cumsum(x, 1)", "the compiler leaves cumsum to a library"),
        ("        return x @ x.t()", "leaves mm to a library, which neither problem nor job allows"),
        ("        import torch as t; t._dynamo.graph_break(); return x + 1", "cannot take it in one graph"),
    ],
)
def test_a_problem_without_a_draft_says_why(evaluator: Evaluator, body: str, reason: str) -> None:
    draft = drafted(evaluator, HEAD + body + TAIL)

    assert draft.source is None
    assert draft.reason is not None
    assert reason in draft.reason


def test_a_product_that_the_problem_allows_stays_in_the_draft(evaluator: Evaluator) -> None:
    source = 'LIBRARY = ["matmul"]\n' + HEAD + "        return torch.relu(x @ x.t()) * 0.5" + TAIL

    draft = drafted(evaluator, source)
    assert draft.source is not None

    assert "torch.mm(" in draft.source
    assert judged(evaluator, source, draft.source).verdict is Verdict.ACCEPTED
