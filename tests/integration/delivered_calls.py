"""What exported kernels do with calls that they were not proven for: a table.

    python -m tests.integration.delivered_calls [--bare | --twice] [KERNEL ...]

An outcome is `right` (as the original in the same call), `raised`, `wrong`, or `crashed`. The calls of a kernel in one
form are made in a process of its own, and in another one after a crash. `--bare` leaves out what an export adds to a
kernel; `--twice` shows that too. Ends with exit code 1 where a kernel crashed, was wrong, or refused the call of its
proof; with `--twice` also where none of them does so bare: then the table proves nothing.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from agents.playbook.module import write
from agents.playbook.schedule import Schedule
from services.domain.candidates import EvaluatedCandidate
from services.domain.jobs import JobSpec
from services.domain.problems import Problem
from services.exports.evidence import evidence_files
from services.exports.operators import operator_package
from services.exports.packages import python_package
from services.exports.winner import Winner
from tests.doubles import a_candidate, a_device, a_job, a_report
from workers.referee.compiler_draft.draft import draft
from workers.referee.problem.reference_problem import ReferenceProblem
from workers.referee.validation import analysed

ROOT = Path(__file__).resolve().parents[2]
SCHEDULE = Schedule(fuse=True, threads=0, lanes=64, wide=True, keep=True, stream=True, interleave=8)
EXAMPLES = (
    "bias_gelu_residual", "cross_entropy", "cumulative_sum", "huber_loss", "layernorm_silu", "masked_softmax",
    "pointwise_chain", "rmsnorm", "row_variance", "swiglu",
)  # fmt: skip
SOFTSIGN = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.softsign(x)


def get_inputs():
    return [torch.randn(64, 1024)]


def get_init_inputs():
    return []
"""
BY_HAND = {
    f"{problem}_by_hand_{stage}": (problem, stage)
    for problem in ("rmsnorm", "layernorm_silu", "pointwise_chain")
    for stage in ("draft", "refine")
}
"""A chat model's style of kernel, by problem and stage."""
COMPILED = {f"{problem}_compiled": problem for problem in ("layernorm_silu", "pointwise_chain", "bias_gelu_residual")}
"""The compiler's own code, by problem."""
KERNELS = ("softsign", *EXAMPLES, *BY_HAND, *COMPILED)
FORMS = ("bundle", "package", "operator")
Call = Callable[[list[Any]], list[Any]]
Outcomes = dict[tuple[str, str, str], str]


def winner_of(name: str) -> Winner:
    """A kernel as the winner of a job: by the playbook, by a chat model's hand, or the compiler's own code."""
    by_hand = BY_HAND.get(name)
    example = "" if name == "softsign" else by_hand[0] if by_hand else COMPILED.get(name, name)
    text = (ROOT / "examples" / "problems" / f"{example}.py").read_text() if example else SOFTSIGN
    text = re.sub(r"(randn|_inputs)\(\d{4}, ", r"\1(64, ", text)  # fewer rows: the kernels are the same
    problem = Problem(name=name, source=text, path=f"{name}.py")
    reference = ReferenceProblem(problem)
    analysis = analysed(reference, a_device(), lambda _what, _line: None, size_numbers=by_hand is None)
    if by_hand:
        source = (ROOT / "examples" / "model_server" / "kernels" / f"{'_'.join(by_hand)}.py").read_text()
    elif name in COMPILED:
        made = draft(reference.model, [reference.make_inputs(0, 1)], name, frozenset(), "compile")
        assert made.source, made.reason
        source = made.source
    else:
        source = write(analysis, SCHEDULE, name, ["all"])
    candidate, report = a_candidate(source=source), a_report()
    return Winner(
        job=replace(a_job(spec=JobSpec(problem=problem)), id=f"job-{name}", analysis=analysis),
        candidate=candidate,
        report=report,
        source=source,
        lineage=(EvaluatedCandidate(candidate=candidate, report=report),),
        runtime=(ROOT / "kernelwright_rt.py").read_text(),
    )


def each(change: Callable[[torch.Tensor], torch.Tensor]) -> Call:
    """The same change of every tensor."""
    return lambda inputs: [change(value) if isinstance(value, torch.Tensor) else value for value in inputs]


def floats_to(dtype: torch.dtype) -> Call:
    return each(lambda value: value.to(dtype) if value.is_floating_point() else value)


CALLS: dict[str, Call] = {
    "as proven": list,
    "bfloat16": floats_to(torch.bfloat16),
    "float16": floats_to(torch.float16),
    "float64": floats_to(torch.float64),
    "int64": floats_to(torch.int64),
    "rank + 1": each(lambda value: value.unsqueeze(0)),
    "rank - 1": each(lambda value: value[0] if value.dim() else value),
    "empty": each(lambda value: value[:0] if value.dim() else value),
    "requires_grad": each(lambda value: value.requires_grad_() if value.is_floating_point() else value),
    "on meta": each(lambda value: value.to("meta")),
    "strided": each(lambda value: torch.stack([value, value], -1)[..., 0]),
    "arrays": lambda inputs: [value.tolist() if isinstance(value, torch.Tensor) else value for value in inputs],
    "bf16 weights": floats_to(torch.bfloat16),
    "constructor": list,
}


def exported(winner: Winner, folder: Path, forms: Sequence[str], *, bare: bool) -> dict[str, Callable[..., Any]]:
    """The constructors of the original and of delivered forms, the bundle among them."""
    name = winner.job.spec.problem.name
    operators = {path.name: path.read_text() for path in (ROOT / "kernelwright_op").glob("*.py")}
    trees = {
        "bundle": evidence_files(winner),
        "package": python_package(winner),
        "operator": operator_package([winner], f"ops_{name}", operators).files,
    }
    for form in forms:
        for path, text in trees[form].items():
            target = folder / form / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(winner.source if bare and target.name == "kernel.py" else text)
        sys.path.insert(0, str(folder / form / "src"))
    made = {
        "original": lambda: _module(folder / "bundle" / "problem.py").Model,
        "bundle": lambda: _module(folder / "bundle" / "kernel.py").ModelNew,
        "package": lambda: importlib.import_module(name).ModelNew,
        "operator": lambda: importlib.import_module(f"ops_{name}.{name}").Model,
    }
    return {form: made[form]() for form in ("original", *forms)}


def _module(path: Path) -> ModuleType:
    name = f"{path.stem}_{path.parents[1].name}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def outcomes_of(winner: Winner, classes: dict[str, Callable[..., Any]], form: str) -> dict[str, str]:
    """What becomes of each call of a form."""
    found: dict[str, str] = {}
    while len(found) < len(CALLS):
        remaining = [call for call in CALLS if call not in found]
        told = _told(winner, classes, form, remaining)
        found |= told
        if len(told) < len(remaining):
            found[remaining[len(told)]] = "crashed"
    return found


def _told(winner: Winner, classes: dict[str, Callable[..., Any]], form: str, calls: list[str]) -> dict[str, str]:
    """What a process tells of calls, up to the one that ends it."""
    read, written = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        for call in calls:
            signal.alarm(60)
            os.write(written, f"{_called(winner, classes, form, call)}\n".encode())
        os._exit(0)
    os.close(written)
    with os.fdopen(read) as answer:
        texts = answer.read().splitlines()
    os.waitpid(child, 0)
    return dict(zip(calls, texts, strict=False))


def _called(winner: Winner, classes: dict[str, Callable[..., Any]], form: str, call: str) -> str:
    scope: dict[str, Any] = {}
    exec(winner.job.spec.problem.source, scope)
    arguments = list(scope.get("get_init_inputs", list)())
    if call == "constructor":
        arguments = [value * 2 if isinstance(value, int | float) else value for value in arguments] or [2.0]
    torch.manual_seed(0)
    inputs = scope["get_inputs"]()
    try:
        with torch.set_grad_enabled(call == "requires_grad"):
            kernel = classes[form](*arguments)
            expected, original = None, None
            try:
                original = classes["original"](*arguments)
                # In their order: a kernel may name its weights otherwise, as the referee lets it.
                values = original.state_dict().values()
                kernel.load_state_dict(dict(zip(kernel.state_dict(), values, strict=True)))
                model = original.bfloat16() if call == "bf16 weights" else original
                expected = model(*CALLS[call](inputs))
            except Exception:  # noqa: BLE001 - the original refuses such a call as well
                expected = None
            kernel = kernel.bfloat16() if call == "bf16 weights" else kernel
            got = kernel(*CALLS[call](inputs))
            if expected is None or not _agree(got, expected):
                return "wrong"
            if call == "requires_grad":
                pairs = zip(*(_gradients(output, inputs) for output in (got, expected)), strict=True)
                return "right" if all(_agree(one, other) for one, other in pairs) else "wrong"
    except Exception as error:  # noqa: BLE001 - that is one of the outcomes
        return f"raised {type(error).__name__}: {error}".replace("\n", " ")
    return "right"


def _gradients(output: Any, inputs: list[Any]) -> tuple[torch.Tensor, ...]:
    """Of the inputs, which were marked for differentiation."""
    outputs = [value for value in (output if isinstance(output, tuple | list) else (output,)) if value.requires_grad]
    wanted = [value for value in inputs if isinstance(value, torch.Tensor) and value.requires_grad]
    return torch.autograd.grad([value.sum() for value in outputs], wanted)


def _agree(got: Any, expected: Any) -> bool:
    pairs = zip(*[value if isinstance(value, tuple | list) else (value,) for value in (got, expected)], strict=True)
    return all(
        one.dtype == other.dtype
        and one.shape == other.shape
        and one.device == other.device
        and one.requires_grad == other.requires_grad
        and (
            other.is_meta
            or torch.allclose(
                one.double(),
                other.double(),
                rtol=2e-2 if other.element_size() == 2 else 1e-4,
                atol=1e-4,
                equal_nan=True,
            )
        )
        for one, other in pairs
    )


def outcomes(winner: Winner, forms: Sequence[str] = FORMS, *, bare: bool = False) -> Outcomes:
    """By kernel, delivered form and call."""
    torch.set_num_threads(1)  # a process forked off has none of its parent's threads
    name = winner.job.spec.problem.name
    with tempfile.TemporaryDirectory() as folder:
        classes = exported(winner, Path(folder), forms, bare=bare)
        return {(name, form, call): text for form in forms for call, text in outcomes_of(winner, classes, form).items()}


def is_bad(call: str, text: str) -> bool:
    """Whether an outcome must not be."""
    return text != "right" if call == "as proven" else not text.startswith(("right", "raised"))


def cost_us(name: str) -> tuple[float, float]:
    """Median microseconds of a call on a few elements, without and with what the export adds."""
    found = []
    for bare in (True, False):
        with tempfile.TemporaryDirectory() as folder:
            winner = winner_of(name)
            model = exported(winner, Path(folder), FORMS[:1], bare=bare)["bundle"]()
            x = torch.randn(2, 8)
            with torch.no_grad():
                found.append(_median_us(lambda: model(x)))  # noqa: B023 - called at once
    return found[0], found[1]


def _median_us(call: Callable[[], Any]) -> float:
    times = []
    for _ in range(20_000):
        start = time.perf_counter_ns()
        call()
        times.append(time.perf_counter_ns() - start)
    return sorted(times)[len(times) // 2] / 1e3


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*", default=KERNELS)
    parser.add_argument("--bare", action="store_true")
    parser.add_argument("--twice", action="store_true")
    parser.add_argument("--cost", action="store_true", help="microseconds of a call of softsign on 16 elements instead")
    arguments = parser.parse_args()
    if arguments.cost:
        before, after = cost_us("softsign")
        sys.stdout.write(f"bare {before:.2f} µs, exported {after:.2f} µs a call\n")
        return
    found: Outcomes = {}
    without: Outcomes = {}
    for name in arguments.kernels:
        winner = winner_of(name)
        if arguments.twice:
            without |= outcomes(winner, FORMS[:1], bare=True)
        found |= outcomes(winner, bare=arguments.bare)
        for form in FORMS:
            shown = ", ".join(f"{call}: {found[name, form, call].split()[0]}" for call in CALLS)
            sys.stdout.write(f"{name} ({form}): {shown}\n")
        sys.stdout.flush()
    sys.stdout.write(_summary(found))
    if arguments.twice:
        sys.stdout.write(f"bare: {_summary(without)}")
    sys.exit(bool(_bad(found)) or (arguments.twice and not _bad(without)))


def _bad(found: Outcomes) -> Outcomes:
    return {key: text for key, text in found.items() if is_bad(key[2], text)}


def _summary(found: Outcomes) -> str:
    kinds = ("right", "raised", "wrong", "crashed")
    counts = {kind: sum(text.startswith(kind) for text in found.values()) for kind in kinds}
    return "".join([f"{len(found)} calls: {counts}\n", *(f"  {key}: {text}\n" for key, text in _bad(found).items())])


if __name__ == "__main__":
    main()
