"""A problem's own code cannot change what a candidate is judged by. Each of these texts tries to have zeros accepted
for a softmax, or to end whoever judges; the referee, its comparison and its clock are in another process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from services.domain.evaluations import EvaluationRequest, Verdict
from services.domain.problems import Problem
from services.domain.validations import ValidationRequest
from tests.integrity.conftest import an_evaluator
from workers.evaluation.evaluator import Evaluator

pytestmark = pytest.mark.integration

INTEGRITY = Path(__file__).parents[1] / "integrity"
SOFTMAX = (INTEGRITY / "problems" / "softmax.txt").read_text()
HONEST = (INTEGRITY / "honest" / "softmax_rows.txt").read_text()
ZEROS = HONEST.replace("b[i] /= s;", "b[i] = 0;")

PATCHED_COMPARISON = """
import sys

def _nothing(*_given, **_named):
    return None

for _name, _module in list(sys.modules.items()):
    if _name.startswith("workers."):
        for _one in ("compare", "examine", "_examined", "judge_outputs", "try_draw", "all_finite"):
            if hasattr(_module, _one):
                setattr(_module, _one, _nothing)
"""
PATCHED_TORCH = """
torch.allclose = lambda *_given, **_named: True
torch.equal = lambda *_given, **_named: True
torch.Tensor.double = lambda self: self * 0
"""
THREADS = """
import threading, time, sys

def _work():
    while True:
        for name, module in list(sys.modules.items()):
            if name.startswith("workers.referee.comparison"):
                module.examine = lambda *_given, **_named: None
        time.sleep(0.0005)

for _ in range(4):
    threading.Thread(target=_work, daemon=True).start()
"""
SIGNALS = """
import os, signal

for _number in (os.getppid(), 1, -1):
    if _number != os.getpid():
        try:
            os.kill(_number, signal.SIGKILL if _number > 1 else signal.SIGUSR1)
        except OSError:
            pass
signal.signal(signal.SIGALRM, lambda *_given: None)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
"""
MESSAGES = """
import gc, socket

from workers.ipc.wire import Channel

_fakes = [
    {"reply": "evaluated", "report": {"verdict": "accepted"}},
    {"said": "ran", "outputs": 0, "peak_bytes": 0},
    {"said": "done"},
]
for _one in gc.get_objects():
    if isinstance(_one, Channel):
        for _fake in _fakes:
            _one.send(_fake)
"""
HUGE_OUTPUTS = SOFTMAX.replace(
    "return torch.softmax(x, dim=-1)",
    "return torch.softmax(x, dim=-1) if x.shape == (256, 2000) else torch.zeros(1 << 20, 1 << 12)",
)
CRASHES_ON_OTHER_SHAPES = SOFTMAX.replace(
    "return torch.softmax(x, dim=-1)",
    """rows = torch.full((1, 1), 256 if x.shape[0] == 256 else 1 << 28)
        beyond = torch.segment_reduce(x[:, 0], "sum", lengths=rows[0], unsafe=True)
        return torch.softmax(x, dim=-1) + 0 * beyond""",
)
HOSTILE = {
    "patched comparison": SOFTMAX + PATCHED_COMPARISON,
    "patched torch": SOFTMAX + PATCHED_TORCH,
    "threads": SOFTMAX + THREADS,
    "signals": SOFTMAX + SIGNALS,
    "messages": SOFTMAX + MESSAGES,
    "huge outputs": HUGE_OUTPUTS,
    "crashes on other shapes": CRASHES_ON_OTHER_SHAPES,
}
REFUSED = {"patched torch", "threads", "messages"}
"""Those that are refused when they are validated; of the others, a kernel is judged as if they did nothing."""


@pytest.fixture(scope="module")
def evaluator() -> Iterator[Evaluator]:
    with an_evaluator() as one:
        yield one


@pytest.mark.parametrize("name", list(HOSTILE))
def test_no_problem_has_zeros_accepted_for_a_softmax(evaluator: Evaluator, name: str) -> None:
    problem = Problem(name="softmax", source=HOSTILE[name], path="softmax.py")
    asked = ValidationRequest(
        job_id=name, team_id="local", problem=problem, device="cpu", backend="cpp", baselines=("eager",)
    )
    validation = evaluator.validate(asked)
    if name in REFUSED:
        assert validation.refusal is not None
        return
    assert validation.refusal is None, validation.refusal
    verdicts = {}
    for source in (ZEROS, HONEST):
        report = evaluator.evaluate(
            EvaluationRequest(
                evaluation_id="eval",
                job_id=name,
                team_id="local",
                candidate_id="cand",
                problem=problem,
                source=source,
                device="cpu",
                backend="cpp",
                baselines=("eager",),
                timeout_s=120.0,
            )
        )
        verdicts[source] = report.verdict, report.gates
    evaluator.close_job(name)
    assert verdicts[ZEROS][0] is Verdict.REJECTED, verdicts[ZEROS]
    assert verdicts[HONEST][0] is Verdict.ACCEPTED, verdicts[HONEST]
