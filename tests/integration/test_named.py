"""Functions and layers that are named by their file become problems."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from kernelwright.optimized_functions.named import function_problem, is_named
from kernelwright.optimized_functions.problem import make_module_problem
from services.domain.errors import ProblemError, UserError

pytestmark = pytest.mark.integration

LAYERS = """
import torch
import torch.nn.functional as F
from torch import nn

from neighbour_of_named import FACTOR

def scaled(x, weight):
    return F.silu(x) * weight * FACTOR

def examples():
    return [(torch.randn(8, 16), torch.rand(16)), (torch.randn(3, 16), torch.rand(16))]

ONE = (torch.randn(8, 16),)
PAIR = (torch.randn(8, 16), torch.rand(16))

def broken():
    raise ValueError("no data here")

def in_place(x, weight):
    return x.mul_(weight)

class Layer(nn.Module):
    def forward(self, x):
        return x

layer = Layer()

class Config:
    pass

class Base(nn.Module):
    def __init__(self, width, *, label="{}"):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width))
        self.label = label

class Scaled(Base):
    def __init__(self, width, *, drop=0.5, label="{}"):
        super().__init__(width, label=label)
        self.drop = nn.Dropout(drop)

    def forward(self, x, gain=1.0):
        return self.drop(scaled(x, self.weight)) * gain

class Told(Base):
    def __init__(self, config):
        super().__init__(16)

    def forward(self, x):
        return x * self.weight

class Silent(Base):
    pass

class Unbuilt(nn.Module):
    def __init__(self):
        raise SystemExit(7)

    def forward(self, x):
        return x

class Model(Layer):
    pass

def calls():
    return [(torch.randn(8, 16),), (torch.randn(3, 16), 2.0)]

def wide():
    return {"width": 16, "label": "{name}"}

NARROW = (16,)
TOO_MANY = (16, 1, 2)
OBJECT = (Config(),)
NUMBER = 16
"""


@pytest.fixture
def layers(tmp_path: Path) -> Iterator[str]:
    import sys

    (tmp_path / "layers_of_named.py").write_text(LAYERS)
    (tmp_path / "neighbour_of_named.py").write_text("FACTOR = 2.0\n")
    yield str(tmp_path / "layers_of_named.py")
    for name in ("layers_of_named", "neighbour_of_named"):
        sys.modules.pop(name, None)


def test_a_function_becomes_a_problem_with_its_examples(layers: str) -> None:
    problem = function_problem(f"{layers}:scaled", "examples", ("matmul",), "worst")
    assert problem.name == "scaled"
    assert "FACTOR = 2.0" in problem.source
    assert "INPUT_SETS" in problem.source
    assert (problem.allow_library, problem.objective) == (("matmul",), "worst")


def test_examples_may_be_a_value_or_lie_in_another_file(layers: str, tmp_path: Path) -> None:
    assert "INPUT_SETS" not in function_problem(f"{layers}:scaled", "PAIR").source
    other = tmp_path / "inputs_of_named.py"
    other.write_text("import torch\n\ndef make():\n    return (torch.randn(4, 16), torch.rand(16))\n")
    assert "(4, 16)" in function_problem(f"{layers}:scaled", f"{other}:make").source


@pytest.mark.parametrize(
    ("name", "inputs", "words"),
    [
        ("scaled", "", "--inputs"),
        ("scaled", "broken", "no data here"),
        ("scaled", "Layer", "Layer"),
        ("missing", "examples", "defines no missing"),
        ("scaled", "missing", "defines no missing"),
        ("Config", "examples", "the class Config, not a function or an nn.Module class"),
        ("layer", "examples", "name its class Layer, and with --init"),
    ],
)
def test_what_is_no_function_or_no_example_is_refused(layers: str, name: str, inputs: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        function_problem(f"{layers}:{name}", inputs)


def built(source: str) -> tuple[Any, list[Any]]:
    """A problem's model and inputs, from its text alone."""
    space: dict[str, Any] = {"__name__": "a_problem"}
    exec(compile(source, "a_problem.py", "exec"), space)
    return space["Model"](*space["get_init_inputs"]()), space["get_inputs"]()


@pytest.mark.parametrize(("init", "label"), [("NARROW", "{}"), ("wide", "{name}")])
def test_a_layer_becomes_a_problem_that_stands_by_itself(layers: str, init: str, label: str) -> None:
    problem = function_problem(f"{layers}:Scaled", "calls", ("matmul",), "worst", init)
    assert (problem.name, problem.allow_library, problem.objective) == ("Scaled", ("matmul",), "worst")
    assert "neighbour_of_named" not in problem.source
    model, (x, gain) = built(problem.source)
    assert (model.label, model.training, model.drop.training) == (label, False, False)
    assert torch.equal(model(x, gain), torch.nn.functional.silu(x) * model.weight * 2.0)


def test_a_layer_without_arguments_needs_no_init(layers: str) -> None:
    model, (x, *_) = built(function_problem(f"{layers}:Layer", "ONE").source)
    assert model(x) is x


@pytest.mark.parametrize(
    ("name", "init", "words"),
    [
        ("Scaled", "", "missing a required argument: 'width'.*--init"),
        ("Scaled", "TOO_MANY", "too many positional arguments.*--init"),
        ("Scaled", "missing", "defines no missing"),
        ("Scaled", "NUMBER", "gives an int: give the constructor's arguments as a tuple"),
        ("Told", "OBJECT", "is built from a Config.*Give numbers"),
        ("Silent", "NARROW", "defines no forward"),
        ("Unbuilt", "", "cannot be built: SystemExit: 7"),
        ("Model", "", "Model has a name that problems use themselves.*name only the file"),
        ("scaled", "NARROW", "is a function: leave it out"),
    ],
)
def test_a_layer_that_cannot_be_built_is_refused_with_what_to_do(layers: str, name: str, init: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        function_problem(f"{layers}:{name}", "calls", init=init)


def test_a_layer_inside_a_function_is_refused() -> None:
    class Inner(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x

    with pytest.raises(ProblemError, match=r"inside a function or another class.*top level"):
        make_module_problem(Inner, (torch.rand(4),))


def test_what_a_module_prints_does_not_reach_standard_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "prints_of_named.py").write_text(
        "import torch\nprint('imported')\ndef f(x):\n    return x + 1\n"
        "def g():\n    print('called')\n    return (torch.rand(4),)\n"
    )
    function_problem(f"{tmp_path}/prints_of_named.py:f", "g")
    out, err = capsys.readouterr()
    assert (out, err) == ("", "imported\ncalled\n")


def test_a_function_that_makes_no_problem_is_refused_with_its_line(layers: str) -> None:
    with pytest.raises(ProblemError, match="changes its argument"):
        function_problem(f"{layers}:in_place", "examples")


def test_modules_that_cannot_be_imported_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        function_problem(f"{tmp_path}/nothing.py:f", "g")
    (tmp_path / "raises_of_named.py").write_text("raise SystemExit(3)\n")
    with pytest.raises(UserError, match="SystemExit"):
        function_problem(f"{tmp_path}/raises_of_named.py:f", "g")
    with pytest.raises(UserError, match="no_such_package_of_named"):
        function_problem("no_such_package_of_named.layers:f", "g")


def test_plain_files_are_no_functions(tmp_path: Path) -> None:
    assert not is_named("examples/problems/rmsnorm.py")
    assert not is_named("rmsnorm.py:")
    assert is_named("rmsnorm.py:Model")
    with pytest.raises(UserError, match="--inputs goes with a function"):
        function_problem("examples/problems/rmsnorm.py", "examples")
    with pytest.raises(UserError, match="--init goes with a function or class"):
        function_problem("examples/problems/rmsnorm.py", "", init="ARGUMENTS")
