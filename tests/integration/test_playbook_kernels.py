"""Generated kernels against PyTorch in double precision: every kind of problem, two schedules, awkward shapes."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import kernelwright_rt
from agents.playbook.mathlib import FLAGS, prelude
from agents.playbook.module import write
from agents.playbook.planner import kernels
from agents.playbook.schedule import Schedule
from services.domain.problems import Problem, ProblemAnalysis
from tests.doubles import a_device
from tests.integration.playbook_rounds import candidate, load
from tests.integration.playbook_table import Case, Function, table, tensors
from tests.selection import with_full
from workers.referee.costs.analysis import analyse
from workers.referee.problem.reference_problem import ReferenceProblem
from workers.referee.validation import analysed

pytestmark = pytest.mark.integration

PLAIN = Schedule()
TUNED = Schedule(
    fuse=True, threads=0, lanes=16, wide=True, keep=True, stream=True, interleave=4, columns=32, prefetch=64
)
FINAL = Schedule(fuse=True, threads=0, lanes=64, wide=True, keep=True, stream=True, interleave=8)
CASES = table()
FACTOR, FLOOR = 8.0, {torch.float64: 1e-14, torch.float32: 4e-6, torch.bfloat16: 1.6e-2, torch.float16: 2e-3}


@pytest.fixture(scope="module")
def analyses() -> dict[str, ProblemAnalysis]:
    return {
        item.name: analyse(item.module, item.inputs(), [], copy_bandwidth_gb_s=10.0, peak_gflop_s=100.0)
        for item in CASES
    }


def build(analyses: dict[str, ProblemAnalysis], schedule: Schedule) -> dict[str, Callable[[], torch.nn.Module]]:
    """Every case's candidate; their kernels are compiled together, since starting the compiler is what costs."""
    sources = {name: write(analysis, schedule, name, []) for name, analysis in analyses.items()}
    texts = {name: kernels(source) or "" for name, source in sources.items()}
    mark = 'extern "C"'
    bodies = [
        mark.join(text.split(mark)[1:]).replace("void kernel_", f"void {name}_kernel_") for name, text in texts.items()
    ]
    body = "".join(f"\n{mark}{body}" for body in bodies)
    whole = prelude(body, fast=schedule.lanes > 0, wide=schedule.wide) + body
    library = kernelwright_rt.compile_cpp(whole, FLAGS)
    return {name: _class(source, library, name) for name, source in sources.items()}


class Renamed:
    """A library whose kernels carry a prefix."""

    def __init__(self, library: Any, prefix: str) -> None:
        self._library, self._prefix = library, prefix

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library, f"{self._prefix}_{name}")


def _class(source: str, library: Any, name: str) -> Callable[[], torch.nn.Module]:
    scope: dict[str, Any] = {"compile_cpp": lambda *_: Renamed(library, name), "__name__": name}
    exec(source.replace("from kernelwright_rt import compile_cpp\n", ""), scope)
    made: Callable[[], torch.nn.Module] = scope["ModelNew"]
    return made


def check(item: Case, candidate: torch.nn.Module) -> list[str]:
    """What is wrong, in words; the bound follows the reference's own error against double precision."""
    candidate.load_state_dict(item.module.state_dict())
    problems = []
    for draw in (item.inputs, *item.others):
        inputs = draw()
        before = copy.deepcopy(inputs)
        with torch.no_grad():
            expected, wanted = _tuple(item.module(*inputs)), _tuple(_double(item.module)(*_doubled(inputs)))
        for number, pair in enumerate(zip(_tuple(candidate(*inputs)), expected, wanted, strict=True)):
            problems += [f"output {number}, {_shape(inputs)}: {text}" for text in difference(*pair)]
        for old, new in zip(before, inputs, strict=True):
            if isinstance(old, torch.Tensor) and isinstance(new, torch.Tensor) and not torch.equal(old, new):
                problems.append("an input was changed")
    return problems


def difference(got: torch.Tensor, expected: torch.Tensor, exact: torch.Tensor) -> list[str]:
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return [f"{got.dtype} {tuple(got.shape)} instead of {expected.dtype} {tuple(expected.shape)}"]
    if not expected.dtype.is_floating_point:
        return [] if torch.equal(got, expected) else [f"{got} instead of {expected}"]
    if not torch.equal(got.isnan(), expected.isnan()) or not torch.equal(got.isinf(), expected.isinf()):
        return ["NaN or infinities elsewhere"]
    finite = expected.isfinite() & exact.isfinite()
    scale = exact[finite].abs().max().item() if finite.any() else 0.0
    own = (expected.double() - exact)[finite].abs().max().item() if finite.any() else 0.0
    error = (got.double() - exact)[finite].abs().max().item() if finite.any() else 0.0
    bound = FACTOR * own + FLOOR[expected.dtype] * scale
    return [] if error <= bound else [f"error {error:.3g} above {bound:.3g} (reference {own:.3g}, scale {scale:.3g})"]


def _tuple(value: Any) -> tuple[torch.Tensor, ...]:
    return tuple(value) if isinstance(value, tuple | list) else (value,)


def _double(module: torch.nn.Module) -> torch.nn.Module:
    return copy.deepcopy(module).double()


def _doubled(inputs: list[object]) -> list[object]:
    return [x.double() if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in inputs]


def _shape(inputs: list[object]) -> list[tuple[int, ...]]:
    return [tuple(x.shape) for x in inputs if isinstance(x, torch.Tensor)]


@pytest.mark.parametrize("schedule", with_full([PLAIN, TUNED], [TUNED]), ids=["plain", "tuned"])
def test_every_kind_of_problem_is_right(schedule: Schedule, analyses: dict[str, ProblemAnalysis]) -> None:
    classes = build(analyses, schedule)
    wrong = {item.name: found for item in CASES if (found := check(item, classes[item.name]()))}
    assert wrong == {}


@pytest.mark.parametrize("path", sorted(Path("examples/problems").glob("*.py")), ids=lambda path: path.stem)
def test_an_example_is_right_at_all_its_shapes_when_fully_optimised(path: Path) -> None:
    problem = load(path)
    torch.manual_seed(0)
    model, init = problem.Model(*problem.get_init_inputs()), problem.get_init_inputs()
    analysis = analyse(model, problem.get_inputs(), init, copy_bandwidth_gb_s=10.0, peak_gflop_s=100.0)
    assert analysis.trace_error is None
    made = candidate(write(analysis, FINAL, path.stem, ["all"]))
    sets = (*getattr(problem, "INPUT_SETS", []), *getattr(problem, "HELD_OUT", []))
    item = Case(path.stem, model, problem.get_inputs, sets)
    assert check(item, made) == []


SEVERAL_FORMS = """import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor(1.5))

    def forward(self, x, y, power=2):
        if y is None:
            return torch.relu(x) * self.scale + 1
        return torch.relu(x * torch.tensor([[2.0], [3.0]])).pow(power) + y

def get_inputs():
    return [torch.randn(()), None]

INPUT_SETS = [
    lambda: [torch.randn(3000), None],
    lambda: [torch.randn(200), None],
    lambda: [torch.randn(64, 300), None],
    lambda: [torch.randn(5).double(), None],
    lambda: [torch.randn(2, 9), torch.randn(2, 9), 3],
    lambda: [torch.randn(2, 9), torch.randn(1, 9), 3],
    lambda: [torch.randn(2, 9), torch.randn(2, 9)],
]

def get_init_inputs():
    return []
"""


@pytest.mark.parametrize("schedule", [PLAIN, FINAL], ids=["plain", "final"])
def test_input_sets_of_several_forms_have_a_kernel_each(schedule: Schedule) -> None:
    problem = ReferenceProblem(Problem(name="p", source=SEVERAL_FORMS, path="p.py"))
    analysis = analysed(problem, a_device(), lambda _what, _line: None)
    assert len(analysis.other_forms) == 6
    made = candidate(write(analysis, schedule, "p", []))
    draws: list[Callable[[], list[Any]]] = [lambda: [torch.randn(7, 13), None], lambda: [torch.randn(1), None]]
    draws += [lambda: [torch.randn(2, 1), torch.randn(2, 1), 3], lambda: [torch.randn(2, 5), torch.randn(1, 5), 3]]
    sets = [functools.partial(problem.make_inputs, number, 1) for number in range(1, len(problem.input_sets) + 1)]
    item = Case("p", problem.model, functools.partial(problem.make_inputs, 0, 1), (*sets, *draws))
    assert check(item, made) == []
    for others in (
        [torch.randn(2, 2, 2), None],
        [torch.randn(3).half(), None],
        [torch.randn(2, 9), torch.randn(2, 9), 4],
    ):
        with pytest.raises(ValueError, match="ranks, dtypes or plain values"):
            made(*others)


def _rotated(q: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    half = q.shape[-1] // 2
    return q * cos + torch.cat((-q[..., half:], q[..., :half]), dim=-1) * sin


def _rotated_pairs(q: Tensor, cos: Tensor) -> Tensor:
    return torch.stack((q[..., ::2] * cos - q[..., 1::2], q[..., 1::2] * cos + q[..., ::2]), dim=-1).flatten(-2)


def _partly_rotated(q: Tensor) -> Tensor:
    quarter = q.shape[-1] // 4
    turned, left = q[..., :quarter], q[..., quarter:]
    half = quarter // 2
    return torch.cat((-turned[..., half:], turned[..., :half], left), dim=-1)


@pytest.mark.parametrize(
    ("function", "traced", "taken", "refused"),
    [
        (_rotated, ((3, 5, 128), (5, 128), (5, 128)), ((2, 4, 62), (4, 62), (4, 62)), ((3, 5, 67), (5, 67), (5, 67))),
        (_rotated_pairs, ((3, 5, 64), (5, 32)), ((2, 4, 62), (4, 31)), ((3, 5, 67), (5, 33))),
        (_partly_rotated, ((3, 64),), ((5, 24),), ((5, 28),)),
        (lambda x: x.narrow(1, x.shape[1] // 2, x.shape[1] // 2), ((3, 64),), ((5, 22),), ((5, 23),)),
        (lambda x: x[:, x.shape[1] // 2] + x[:, -1], ((3, 64),), ((5, 22),), ((5, 23),)),
        (lambda x: x[:, -(x.shape[1] // 2) :], ((3, 64),), ((5, 22),), ((5, 23),)),
        (lambda x, y: x[:, : y.shape[1]] + y, ((3, 64), (3, 40)), ((5, 22), (5, 9)), None),
        (lambda x: x[:, 1::3], ((3, 64),), ((5, 22),), None),
        (lambda x: torch.cat(x.chunk(4, -1)[::-1], -1), ((3, 64),), ((5, 24),), ((5, 23),)),
        (lambda x: torch.cat(x.split([16, 48], -1)[::-1], -1), ((3, 64),), ((5, 64),), ((5, 65),)),
        (lambda x: torch.cat((x, x[:, 1:]), 1).chunk(3, 1)[1], ((3, 8),), ((5, 11),), ((5, 12),)),
    ],
)
def test_sizes_that_cannot_be_cut_as_traced_are_refused_and_others_are_right(
    function: Callable[..., Tensor],
    traced: tuple[tuple[int, ...], ...],
    taken: tuple[tuple[int, ...], ...],
    refused: tuple[tuple[int, ...], ...] | None,
) -> None:
    module = Function(function)
    analysis = analyse(module, tensors(*traced)(), [], copy_bandwidth_gb_s=10.0, peak_gflop_s=100.0)
    made = candidate(write(analysis, FINAL, "cut", []))
    assert check(Case("cut", module, tensors(*traced), (tensors(*taken),)), made) == []
    if refused is not None:
        with pytest.raises(ValueError, match=r"takes multiples of|not made for it|built into this kernel"):
            made(*tensors(*refused)())
