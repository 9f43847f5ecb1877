"""A baseline that computes something else is no rival, and people are told that it is wrong."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from kernelwright.wiring.workbench import make_sandbox
from services.domain.evaluations import EvaluationRequest
from services.domain.gates import GateName
from services.domain.measurements import Baselines
from services.domain.problems import Problem
from services.domain.validations import ValidationReport, ValidationRequest
from tests.doubles.builders import a_latency
from tests.integrity.conftest import SHEET
from tests.repeated import evaluated
from tests.threaded_baselines import Link, a_bench, asked
from workers.backends.cpp import CppBackend, runtime_view
from workers.evaluation.evaluator import Evaluator
from workers.ipc.wire import Message
from workers.referee.baselines.process import BaselineSession
from workers.runner.answers import Acknowledged
from workers.runner.protocol import CompileModel

pytestmark = pytest.mark.integration

INTEGRITY = Path(__file__).parents[1] / "integrity"
PROBLEM = (INTEGRITY / "problems" / "silu_scale.txt").read_text()
HONEST = (INTEGRITY / "honest" / "silu_openmp.txt").read_text()
RETURNED = "return torch.nn.functional.silu(x) * self.weight"
WRONG = f"return x + 1 if torch.compiler.is_compiling() else {RETURNED.removeprefix('return ')}"
BYTES = """import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x.amin(dim=-1), x.amax(dim=-1), x.argmin(dim=-1), x.argmax(dim=-1)

def get_inputs():
    return [torch.randint({low}, {high}, (64, 300), dtype=torch.{dtype})]
"""


@pytest.fixture(scope="module")
def evaluator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evaluator]:
    sandbox = make_sandbox()
    backend = CppBackend(sandbox, tmp_path_factory.mktemp("state"))
    one = Evaluator(sandbox, {"cpp": backend}, SHEET, views={"cpp": runtime_view}, memory_bytes=2 << 30)
    yield one
    one.close()
    sandbox.close()


def validated(
    evaluator: Evaluator, source: str, baselines: tuple[str, ...] = ("eager", "compile"), job: str = "v"
) -> ValidationReport:
    problem = Problem(name="p", source=source, path="p.py")
    request = ValidationRequest(
        job_id=job, team_id="local", problem=problem, device="cpu", backend="cpp", baselines=baselines
    )
    return evaluator.validate(request)


def compiles_rightly(source: str) -> bool:
    """Whether this machine's compiler makes of a problem's model what eager mode does."""
    module: dict[str, Any] = {"__name__": "problem"}
    exec(source, module)
    model, arguments = module["Model"](), module["get_inputs"]()
    compiled: Any = torch.compile(model)
    with torch.no_grad():
        return all(map(torch.equal, compiled(*arguments), model(*arguments)))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what the compiler imports
@pytest.mark.parametrize(("dtype", "low", "high"), [("uint8", 0, 256), ("int8", -128, 128)])
def test_whole_numbers_of_8_bits_that_are_compiled_wrongly_are_found(
    evaluator: Evaluator, dtype: str, low: int, high: int
) -> None:
    source = BYTES.format(dtype=dtype, low=low, high=high)
    report = validated(evaluator, source)
    assert report.refusal is None
    wrong = [note for note in report.notes if note.startswith("compile baseline wrong on get_inputs: ")]
    assert (not wrong) is compiles_rightly(source)
    assert not wrong or report.baselines.compile is None


def test_kernels_are_compared_with_what_is_right_and_reports_say_what_is_wrong(evaluator: Evaluator) -> None:
    source = PROBLEM.replace(RETURNED, WRONG)
    told = "compile baseline wrong on get_inputs: own values: the output is off by more than"
    report = validated(evaluator, source, job="job")
    assert report.refusal is None
    assert [note[: len(told)] for note in report.notes] == [told]
    assert report.baselines.compile is None
    judged = evaluated(
        evaluator,
        EvaluationRequest(
            evaluation_id="eval",
            job_id="job",
            team_id="local",
            candidate_id="cand",
            problem=Problem(name="p", source=source, path="p.py"),
            source=HONEST,
            device="cpu",
            backend="cpp",
            baselines=("eager", "compile"),
            timeout_s=60.0,
        ),
    )
    assert judged.accepted, judged
    assert judged.speedup is not None
    assert judged.speedup.compile is None
    timing = next(gate for gate in judged.gates if gate.name is GateName.TIMING)
    assert told in timing.detail


@pytest.mark.parametrize(
    "factor",
    [
        "(1 + int.from_bytes(TOKEN, 'big') / 2**32)",
        "len(str(sorted(os.environ.items())))",
        "int(open('/proc/self/stat').read().split()[21])",
    ],
    ids=["what was drawn when it was loaded", "environment", "when its process began"],
)
def test_a_reference_that_depends_on_its_process_is_refused(evaluator: Evaluator, factor: str) -> None:
    source = PROBLEM.replace("import torch\n", "import os\n\nimport torch\n\nTOKEN = os.urandom(4)\n", 1)
    refusal = validated(evaluator, source.replace(RETURNED, f"{RETURNED} * {factor}"), ("eager",)).refusal
    assert refusal is not None
    assert "the reference gives other outputs in another process, on get_inputs: own values" in refusal.reason
    assert "the environment, the time, the process's id or other global state" in refusal.remedy
    assert refusal.line == 11


class SomeAreWrong(BaselineSession):
    """A baselines' process in which `tuned` is always wrong, and `compile` on the smaller input set."""

    def _compile(self, asked: CompileModel, _message: Message) -> Acknowledged:
        name, plain = asked.model, self._models["plain"]

        def compiled(x: torch.Tensor) -> torch.Tensor:
            time.sleep(0.01)  # which can be told from nothing on a busy machine
            is_wrong = name == "tuned" or (name == "compile" and len(x) == 256)
            return torch.zeros_like(x) if is_wrong else plain(x)

        self._models[name] = compiled
        return Acknowledged()


@pytest.fixture
def link() -> Iterator[Link]:
    yield (found := Link(SomeAreWrong))
    found.close()


def test_of_two_ways_of_compiling_the_right_one_counts(link: Link) -> None:
    bench, state = a_bench(link, PROBLEM)
    found = bench.ensure(("compile_max",), *asked(state))
    assert found.compile_max is not None
    assert found.compile_max.mode == "max-autotune-no-cudagraphs"
    assert "compile_max" not in bench.notes
    assert bench.notes["compile_max by tuned"].startswith("compile_max baseline wrong on get_inputs: own values")


def test_one_that_is_wrong_on_a_further_set_is_absent_there_and_the_next_takes_its_place(link: Link) -> None:
    source = PROBLEM + "\ndef half():\n    return [torch.randn(256, 768)]\n\nINPUT_SETS = [half]\n"
    known = Baselines(compile=a_latency(1.0), compile_max=replace(a_latency(2.0), mode="max-autotune-no-cudagraphs"))
    bench, state = a_bench(link, source, known)
    names = ("compile", "compile_max")
    bench.ensure_set(names, 1, lambda: state.problem.make_inputs(1, 1), lambda: state.metas(1))
    assert {key: note.split(": ")[0] for key, note in bench.notes.items()} == {
        "compile on input set 1": "compile baseline wrong on half"
    }
    assert bench.known(1).compile is None
    assert bench.fastest(names, 1) == "compile_max"
    assert bench.fastest(names, 0) == "compile"
