"""A package of winners: built and installed by pip, then asked what a PyTorch user would ask of it."""

from __future__ import annotations

import importlib
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from services.domain.evaluations import ShapeResult
from services.domain.measurements import Latency, Speedup
from services.exports.operators import operator_package
from services.exports.winner import Winner
from tests.adversary.designs import read
from tests.doubles import a_problem
from tests.integration.test_exports_alone import RIGHT, ROOT, a_winner, a_winner_with_gradients, written

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

HONEST = ROOT / "tests" / "adversary" / "gradients" / "honest"
MARKED = "        LIBRARY.relu(x, y, x.numel())\n        y[..., 0] = -1\n"
"""Tells by its first column that the kernel ran; no honest kernel does that."""


def trained(name: str, kernel: str, problem: str, timed: int) -> Winner:
    """A kernel with gradients, proven at the first `timed` sets of its problem and the held-out ones."""
    winner = a_winner_with_gradients(read(HONEST / f"{kernel}.py", "honest").source)
    source = (ROOT / "examples" / "training" / f"{problem}.py").read_text()
    job = replace(winner.job, id=f"job-{name}", spec=replace(winner.job.spec, problem=a_problem(source, name=name)))
    one = ShapeResult(shapes=((1,),), latency=a_latency(), speedup=Speedup(best_baseline=2.0, ci95=(1.9, 2.1)))
    return replace(winner, job=job, report=replace(winner.report, shapes=(one,) * timed))


def a_latency() -> Latency:
    return Latency(median_us=1.0, mean_us=1.0, p10_us=1.0, p90_us=1.0, ci95_us=(1.0, 1.0), samples=9)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    relu = a_winner(RIGHT.replace("        LIBRARY.relu(x, y, x.numel())\n", MARKED))
    broken = a_winner("raise ImportError('no compiler here')\n")
    broken = replace(
        broken,
        job=replace(
            broken.job, id="job-broken", spec=replace(broken.job.spec, problem=a_problem(ABS, name="absolute"))
        ),
    )
    shifted = replace(
        relu.job, id="job-shifted", spec=replace(relu.job.spec, problem=a_problem(SHIFTED, name="shifted"))
    )
    winners = [
        relu,
        replace(a_winner(SHIFTED_KERNEL), job=shifted),
        broken,
        trained("rms", "rms_norm", "rmsnorm", 2),
        trained("loss", "cross_entropy", "cross_entropy", 2),
    ]
    modules = {path.name: path.read_text() for path in (ROOT / "kernelwright_op").glob("*.py")}
    folder = written(operator_package(winners, "tried_kernels", modules).files, tmp_path_factory.mktemp("package"))
    target = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "install", "--no-build-isolation", "--no-deps", "--no-index", "-q"]
    done = subprocess.run([*pip, "--target", target, folder], capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    sys.path.insert(0, str(target))
    try:
        yield importlib.import_module("tried_kernels")
    finally:
        sys.path.remove(str(target))


ABS = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x.abs()


def get_inputs():
    return [torch.randn(64, 64)]


def get_init_inputs():
    return []
"""


SHIFTED = """import torch


class Model(torch.nn.Module):
    def forward(self, x, gain=1.5, mode="up", steps=-2):
        return x * gain + steps + len(mode)


def get_inputs():
    return [torch.randn(64, 64), 1.5, "up", -2]


def get_init_inputs():
    return []
"""
SHIFTED_KERNEL = """import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b, c, d):
        y = a * b + d + len(c)
        y[..., 0] = -1
        return y
"""


def stepped(model: Any, *inputs: torch.Tensor) -> list[torch.Tensor]:
    """Output, gradients of inputs and of parameters."""
    own = [value.detach().clone().requires_grad_(value.is_floating_point()) for value in inputs]
    parameters = list(model.parameters())
    for parameter in parameters:
        parameter.grad = None
    output = model(*own)
    torch.manual_seed(1)
    output.backward(torch.randn_like(output))
    return [output, *[one.grad for one in (*own, *parameters) if one.grad is not None]]


def agree(ours: list[torch.Tensor], theirs: list[torch.Tensor]) -> None:
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)


def ran_the_kernel(output: torch.Tensor) -> bool:
    return bool((output[..., 0] == -1).all())


@pytest.mark.parametrize("shape", [(256, 256), (5, 7)], ids=["proven", "unproven"])
def test_operators_pass_the_checks_of_torch_at_any_shape(package: ModuleType, shape: tuple[int, ...]) -> None:
    torch.library.opcheck(package.relu.call, (torch.randn(*shape, requires_grad=True),))


@pytest.mark.parametrize("rows", [33, 1, 5], ids=["announced", "held out", "unproven"])
def test_operators_with_weights_and_gradients_pass_the_checks_of_torch(package: ModuleType, rows: int) -> None:
    arguments = (torch.randn(rows, 1024, requires_grad=True), torch.rand(1024, requires_grad=True))
    torch.library.opcheck(package.rms.call, arguments)
    if rows != 5:
        torch.library.opcheck(package.rms.operator.call_saving, arguments)


def test_the_kernels_own_backward_passes_the_checks_of_torch(package: ModuleType) -> None:
    arguments = (torch.randn(301, 97, requires_grad=True), torch.randint(0, 97, (301,)))
    torch.library.opcheck(package.loss.operator.call_saving, arguments)
    with pytest.raises(RuntimeError, match="proven calls only"):
        package.loss.operator.call_saving(torch.randn(3, 97), torch.randint(0, 97, (3,)))


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_the_kernel_runs_where_it_was_proven_and_the_original_elsewhere(package: ModuleType, compiled: bool) -> None:
    module = package.relu.Model()
    model: Any = torch.compile(module, fullgraph=True, dynamic=False, backend="aot_eager") if compiled else module
    x = torch.randn(256, 256)
    assert ran_the_kernel(model(x))
    assert ran_the_kernel(package.relu.call(x))
    for other in (x[:5].clone(), x.double(), x.t(), x.clone().requires_grad_()):
        assert torch.equal(model(other), other.relu())
    with torch.autocast("cpu"):
        assert not ran_the_kernel(model(x))
    if not compiled:
        assert torch.equal(model(torch.randn(65537)[1:].view(256, 256)) >= 0, torch.ones(256, 256).bool())


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("rows", [33, 6], ids=["proven", "unproven"])
def test_gradients_are_those_of_the_original(package: ModuleType, compiled: bool, rows: int) -> None:
    torch._dynamo.reset()
    module = package.rms.Model(1024)
    x = torch.randn(rows, 1024)
    expected = stepped(package.rms.original.Model(1024), x)
    model: Any = torch.compile(module, fullgraph=True, backend="aot_eager") if compiled else module
    for _ in range(2):
        agree(stepped(model, x), expected)


def test_a_compiled_graph_holds_the_kernels_forward_and_backward(package: ModuleType) -> None:
    torch._dynamo.reset()
    graphs: list[str] = []

    def note(graph: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Any:
        graphs.append(graph.print_readable(print_output=False))
        return graph.forward

    compiled: Any = torch.compile(package.rms.Model(1024), fullgraph=True, backend=note)
    compiled(torch.randn(33, 1024, requires_grad=True))
    compiled(torch.randn(6, 1024, requires_grad=True))
    assert "ops.tried_kernels.rms_saving" in graphs[0]
    assert "ops.tried_kernels" not in graphs[1]


def test_frozen_weights_and_other_constructor_arguments(package: ModuleType) -> None:
    original, frozen = package.rms.original.Model(1024), package.rms.Model(1024).requires_grad_(False)
    x = torch.randn(33, 1024)
    agree(stepped(frozen, x), stepped(original.requires_grad_(False), x))
    other = package.rms.Model(1024, eps=0.5)
    assert torch.allclose(other(x), package.rms.original.Model(1024, 0.5)(x))
    frozen.load_state_dict(package.rms.original.Model(1024).state_dict())


def test_an_exported_program_decides_at_each_call(package: ModuleType, tmp_path: Path) -> None:
    rows = torch.export.Dim("rows", min=2, max=4096)
    with torch.no_grad():
        program = torch.export.export(package.relu.Model(), (torch.randn(9, 256),), dynamic_shapes=({0: rows},))
    torch.export.save(program, tmp_path / "relu.pt2")
    loaded: Any = torch.export.load(tmp_path / "relu.pt2").module()
    x = torch.randn(256, 256)
    assert ran_the_kernel(loaded(x))
    assert torch.equal(loaded(x[:7].clone()), x[:7].relu())


def test_a_kernel_that_cannot_be_built_is_named_once_and_the_original_runs(package: ModuleType) -> None:
    model, x = package.absolute.Model(), torch.randn(64, 64)
    with pytest.warns(UserWarning, match="absolute.kernel_0 cannot be used here.*no compiler here"):
        assert torch.equal(model(x), x.abs())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.equal(model(x), x.abs())


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_arguments_that_are_left_out_or_named_have_the_originals_defaults(package: ModuleType, compiled: bool) -> None:
    operator, model, x = package.shifted.call, package.shifted.Model(), torch.randn(64, 64)
    torch.compiler.reset()
    run: Any = torch.compile(model, fullgraph=True, dynamic=False, backend="aot_eager") if compiled else model
    calls: list[tuple[tuple[Any, ...], dict[str, Any], bool]] = [
        ((x,), {}, True),
        ((x, 1.5), {}, True),
        ((x,), {"steps": -2}, True),
        ((x,), {"steps": 3}, False),
        ((x, 2.0), {"mode": "down"}, False),
    ]
    for arguments, keywords, kernel in calls:
        expected = package.shifted.operator.subject.module.Model()(*arguments, **keywords)
        for call in (operator, run):
            found = call(*arguments, **keywords)
            assert ran_the_kernel(found) is kernel
            agree([found[..., 1:]], [expected[..., 1:]])
    for broken in ({"other": 1}, {"x": x}):
        with pytest.raises((TypeError, RuntimeError)):
            model(x, **broken)
    learned = x.clone().requires_grad_()
    operator(learned).sum().backward()
    assert torch.equal(learned.grad, torch.full_like(x, 1.5))  # type: ignore[arg-type]
    torch.library.opcheck(operator, (x,))
