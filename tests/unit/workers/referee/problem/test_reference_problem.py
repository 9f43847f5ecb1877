from collections.abc import Iterator

import pytest
import torch

from services.domain.problems import Problem
from tests.isolated import isolated
from workers.referee.boundary.problem_messages import StatePart
from workers.referee.errors import Refused
from workers.referee.gates.checks.left_state import left_by
from workers.referee.problem.other_parameters import (
    another_model,
    moved_parameters,
    moved_statistics,
    ordinary_parameters,
    other_parameters,
)
from workers.referee.problem.reference_problem import ReferenceProblem
from workers.referee.validation import examine, keep_state

GOOD = """import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) + 1

def get_inputs():
    return [torch.randn(16, 16)]

def get_init_inputs():
    return []
"""


def problem(source: str) -> Problem:
    return Problem(name="p", source=source, path="p.py")


def refused(source: str) -> Refused:
    with pytest.raises(Refused) as caught:
        examine(ReferenceProblem(problem(source)), lambda _what, _line: None)
    return caught.value


def test_a_good_problem_is_loaded_and_examined() -> None:
    reference = ReferenceProblem(problem(GOOD))
    examine(reference, lambda _what, _line: None)
    assert reference.line_of("Model.forward") == 4


def test_the_same_seed_draws_the_same_inputs() -> None:
    reference = ReferenceProblem(problem(GOOD))
    first, again, other = (reference.make_inputs(0, seed)[0] for seed in (1, 1, 2))
    assert bool((first == again).all())
    assert not bool((first == other).all())


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize(
    ("old", "new", "reason", "line"),
    [
        ("torch.relu(x) + 1", "torch.relu(x) +", "syntax error", 5),
        ("class Model(", "class Other(", "defines no Model", None),
        ("def get_inputs", "def inputs", "defines no get_inputs", None),
        ("torch.relu(x) + 1", "torch.relu(x, 3, 4, 5)", "raised TypeError", 5),
        ("torch.relu(x) + 1", "torch.rand_like(x)", "not deterministic", 4),
        ("torch.relu(x) + 1", "x[x > 0]", "in another of the same", 4),
        ("torch.relu(x) + 1", "[x] * int(torch.randint(1, 1 << 16, ()))", "in another of the same", 4),
        ("torch.relu(x) + 1", "torch.log(-x.abs())", "not finite", 4),
        ("torch.relu(x) + 1", "torch.ones(3)", "does not depend", 4),
        ("torch.relu(x) + 1", "x * 0 + 1", "does not depend", 4),
        ("torch.relu(x) + 1", "3", "no tensor", 4),
        ("torch.relu(x) + 1", "x.mean() * torch.ones(9)", "constant", 4),
        ("torch.randn(16, 16)", "torch.randn(0, 16)", "get_inputs gives tensors without elements only", 7),
        ("torch.randn(16, 16)", "torch.randn(int(torch.randint(1, 1 << 16, ())), 2)", ", 2]) under one seed and", 7),
        ("torch.randn(16, 16)", "torch.ones(16, 16)", "same values under every seed", 7),
        ("return [torch.randn(16, 16)]", "raise SystemExit(0)", "raised SystemExit", 8),
        ("return [torch.randn(16, 16)]", "return [object()]", "cannot be passed", 7),
        ("torch.randn(16, 16)", "torch.empty(1 << 60)", "ran out of memory|raised RuntimeError", 8),
        ("return []", "return [3]", "raised TypeError", 3),
        ("torch.randn(16, 16)", "torch.zeros(9, dtype=torch.uint16)", "`x`: tensors of dtype uint16 are not", 7),
        (
            "torch.randn(16, 16)",
            "torch.quantize_per_tensor(torch.randn(9), 0.1, 0, torch.qint8)",
            "`x`: tensors of dtype qint8 are not supported; supported are float32",
            7,
        ),
        (
            "torch.randn(16, 16)",
            "torch.nested.nested_tensor([torch.randn(2), torch.randn(3)])",
            "get_inputs(): `x`: nested tensors are not supported; supported are strided, sparse_coo",
            7,
        ),
        ("torch.randn(16, 16)", "torch.randn(4, 4).to_mkldnn()", "`x`: _mkldnn tensors are not supported", 7),
        (
            "torch.relu(x) + 1",
            "torch.relu(x).to(torch.float8_e4m3fnuz)",
            "Model.forward: output 0: tensors of dtype float8_e4m3fnuz are not supported",
            4,
        ),
        (
            "torch.relu(x) + 1",
            "torch.nested.as_nested_tensor([x, x])",
            "Model.forward: output 0: nested tensors are not supported",
            4,
        ),
    ],
)
def test_an_unusable_problem_is_refused_with_reason_remedy_and_line(
    old: str, new: str, reason: str, line: int | None
) -> None:
    refusal = refused(GOOD.replace(old, new))
    assert any(part in refusal.reason for part in reason.split("|")), refusal.reason
    assert refusal.remedy
    assert refusal.line == line


NORMALISED = """import torch

class Model(torch.nn.Module):
    def forward(self, x):
        normalised = torch.nn.functional.group_norm(x, 4)
        return {result}

def get_inputs():
    return [torch.rand(6, 8, 300)]

def get_init_inputs():
    return []
"""


@pytest.mark.parametrize(
    "result",
    [
        "normalised.mean(dim=(1, 2))",
        "(normalised, normalised.mean(dim=(1, 2)))",
        "torch.relu(normalised.mean(dim=(1, 2)))",
        "torch.cat((normalised.mean(dim=(1, 2)), x.new_zeros(30)))",
        "normalised.mean(dim=(1, 2)) + 1e-8 * x[:, 0, 0]",
        "normalised.mean(dim=(1, 2)).to(torch.complex64) * 1j",
    ],
)
def test_a_reference_that_returns_rounding_noise_is_refused_with_what_to_do(result: str) -> None:
    refusal = refused(NORMALISED.replace("{result}", result))
    assert "nothing but rounding noise" in refusal.reason
    assert f"output {int(result.startswith('(norm'))} " in refusal.reason
    assert "do not cancel" in refusal.remedy
    assert refusal.line == 4


@pytest.mark.parametrize(
    "result",
    [
        "normalised.mean(dim=(1, 2)) + 1e-6 * x[:, 0, 0]",  # small, and above the noise
        "1e-30 * x",
        "torch.exp(-90 - 30 * x)",  # of which most underflows to zero
        "(1 + 1e-9 * x) - 1 + (x > 0.999)",  # of which most is rounded to zero
        "torch.sin(1e9 * x)",  # float32 and float64 have nothing in common, and both are of magnitude 1
        "torch.cat((normalised.mean(dim=(1, 2)), x.mean(dim=(1, 2))[:2]))",  # of which most is noise
        "(x, torch.relu(-x))",
        "(x, x.masked_fill(x >= 0, 0.0))",
        "torch.nn.functional.pad(x, (0, 3000))",
        "x.argmin(dim=-1)",
        "(x, normalised.mean(dim=(1, 2)).to(torch.int64))",
    ],
)
def test_references_of_small_zero_mixed_or_whole_values_are_no_rounding_noise(result: str) -> None:
    examine(ReferenceProblem(problem(NORMALISED.replace("{result}", result))), lambda _what, _line: None)


def test_an_output_that_is_noise_in_one_draw_by_chance_is_accepted() -> None:
    """Of a number, which may nearly cancel: here every other draw does."""
    source = GOOD.replace("torch.relu(x) + 1", "x.sum()").replace(
        "return [torch.randn(16, 16)]",
        "x = torch.randn(16, 16)\n    return [torch.cat((x[:8], -x[:8].flip(0))) if torch.initial_seed() == 1 else x]",
    )
    examine(ReferenceProblem(problem(source)), lambda _what, _line: None)


def test_settings_that_leave_rounding_noise_only_are_refused() -> None:
    source = NORMALISED.replace("{result}", "normalised.mean(dim=(1, 2)) + self.share * x[:, 0, 0]")
    source = source.replace(
        "    def forward",
        "    def __init__(self, share):\n        super().__init__()\n        self.share = share\n\n    def forward",
    )
    source = source.replace("return []", "return [1.0]") + "\nINIT_SETS = [lambda: [0.0]]\n"
    assert "rounding noise" in refused(source).reason


def test_a_problem_with_unreadable_tolerances_is_refused_with_the_line() -> None:
    refusal = refused(GOOD + "\nTOLERANCE = {'float32': 3}\n")
    assert "TOLERANCE" in refusal.reason
    assert refusal.line == 13


def test_parameters_of_one_value_get_others_for_a_while() -> None:
    reference = ReferenceProblem(problem(NORM))
    usual = {name: tensor.clone() for name, tensor in reference.state()}
    with other_parameters(reference) as has_any:
        others = dict(reference.state())
        assert has_any
        assert bool((others["norm.weight"] >= 0.6).all())
        assert bool((others["norm.running_var"] >= 0.6).all())
        assert 0.0 < float(others["norm.bias"].abs().max()) <= 0.5
        assert torch.equal(others["linear.weight"], usual["linear.weight"])
        assert torch.equal(others["mask"], usual["mask"])
    assert all(torch.equal(tensor, usual[name]) for name, tensor in reference.state())


DRAWN = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(8)
        self.register_buffer("codes", torch.randint(-127, 128, (8, 8), dtype=torch.int8))
        self.register_buffer("table", torch.arange(8.0))

    def forward(self, x):
        return self.norm(x @ self.codes.float()) + self.table

def get_inputs():
    return [torch.randn(8, 8)]
"""


def _others(reference: ReferenceProblem, part: StatePart) -> list[str]:
    """Names of what holds other values in another model."""
    usual = {name: tensor.clone() for name, tensor in reference.state()}
    with another_model(reference, 7, part) as has_any:
        found = [name for name, tensor in reference.state() if not torch.equal(tensor, usual[name])]
        assert has_any == bool(found)
    assert all(torch.equal(tensor, usual[name]) for name, tensor in reference.state())
    return found


def test_another_model_has_other_parameters_and_what_is_drawn_and_the_same_tables() -> None:
    reference, frozen = ReferenceProblem(problem(DRAWN)), ["codes", "norm.running_mean", "norm.running_var"]
    assert _others(reference, StatePart.ALL) == ["norm.weight", "norm.bias", *frozen]
    assert _others(reference, StatePart.FROZEN) == frozen
    assert len(_others(reference, StatePart.ONE)) == 1
    assert _others(ReferenceProblem(problem(GOOD)), StatePart.ALL) == []
    step = ReferenceProblem(problem(f"{DRAWN}\nBACKWARD = True\n"))
    assert _others(step, StatePart.ONE)[0] in ("norm.weight", "norm.bias")


def test_statistics_move_alike_under_one_seed_in_either_mode() -> None:
    reference, found = ReferenceProblem(problem(DRAWN)), []
    for in_other_mode in (False, True):
        with moved_statistics(reference, 3, in_other_mode=in_other_mode) as is_training:
            assert is_training is not in_other_mode
            assert reference.model.training is is_training
            found.append(dict(reference.state())["norm.running_var"])
    assert torch.equal(*found)
    assert not bool((found[0] == 1).any())
    assert reference.model.training


def test_counts_that_calls_change_are_larger_in_a_trained_model() -> None:
    reference = ReferenceProblem(problem(DRAWN))
    reference.keep(("norm.num_batches_tracked",))
    with other_parameters(reference):
        assert int(dict(reference.state())["norm.num_batches_tracked"]) in (1, 2, 3)
    assert int(dict(reference.state())["norm.num_batches_tracked"]) == 0


def test_tensors_that_a_reference_makes_are_of_double_precision_in_its_exact_run() -> None:
    exact = ReferenceProblem(problem(GOOD.replace("relu(x) + 1", "zeros(16, 16).add_(x)"))).run_double(
        [torch.ones(16, 16)]
    )
    assert exact is not None
    assert exact.dtype is torch.float64
    assert torch.zeros(1).dtype is torch.float32


NORM = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.linear = torch.nn.BatchNorm1d(8).eval(), torch.nn.Linear(8, 8)
        self.register_buffer("mask", torch.ones(8))

    def forward(self, x):
        return self.norm(self.linear(x)) * self.mask

def get_inputs():
    return [torch.randn(4, 8)]
"""


@pytest.fixture
def torch_as_it_was() -> Iterator[None]:
    equal, threads, dtype = torch.equal, torch.get_num_threads(), torch.get_default_dtype()
    yield
    torch.equal = equal
    torch.set_num_threads(threads)
    torch.set_default_dtype(dtype)


@pytest.mark.usefixtures("torch_as_it_was")
@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("torch.equal = lambda one, other: True", "`torch.equal`"),
        ("torch.set_num_threads(7)", "the number of threads"),
        ("torch.set_default_dtype(torch.float64)", "the default dtype"),
    ],
)
@pytest.mark.parametrize("place", ["import torch\n", "    def forward(self, x):\n"])
def test_a_problem_leaves_pytorch_as_it_is(line: str, name: str, place: str) -> None:
    blanks = " " * (8 if "forward" in place else 0)
    refusal = refused(GOOD.replace(place, f"{place}{blanks}{line}\n"))
    assert f"the problem changes {name}" in str(refusal)
    assert "Leave PyTorch and Kernelwright as they are" in refusal.remedy


@pytest.mark.parametrize(
    ("training", "named"), [(True, "model's norm.running_mean, norm.running_var, norm"), (False, None)]
)
def test_what_a_call_changes_in_the_model_is_named(training: bool, named: str | None) -> None:
    layer = GOOD.replace(
        "    def forward(self, x):\n        return torch.relu(x) + 1",
        "    def __init__(self):\n        super().__init__()\n        self.norm = torch.nn.BatchNorm1d(16)\n"
        f"        self.train({training})\n\n    def forward(self, x):\n        return self.norm(x)",
    )
    change = keep_state(ReferenceProblem(problem(layer)), lambda _what, _line: None)
    assert (change is None) if named is None else (named in (change or ""))


COUNTER = GOOD.replace(
    "    def forward(self, x):\n        return torch.relu(x) + 1",
    "    def __init__(self):\n        super().__init__()\n        self.register_buffer('seen', torch.zeros(16))\n\n"
    "    def forward(self, x):\n        self.seen.mul_(0.5).add_(x.mean(dim=0))\n        return torch.relu(x) + 1",
)


def test_each_call_finds_the_model_as_it_was_built() -> None:
    reference = ReferenceProblem(problem(COUNTER))
    reference.run(reference.make_inputs(0, 1))
    assert reference.model.get_buffer("seen").any()
    keep_state(reference, lambda _what, _line: None)
    assert reference.changing == ("seen",)
    reference.run(reference.make_inputs(0, 2))
    assert not reference.model.get_buffer("seen").any()


def test_what_a_call_leaves_is_found_out_on_a_copy_with_how_exact_it_is() -> None:
    with isolated(COUNTER) as reference:
        reference.keep_state()
        arguments = reference.make_inputs(0, 3)
        left = left_by(reference, arguments)
        assert torch.equal(left.after["seen"], arguments[0].mean(dim=0))
        assert not left.before["seen"].any()
        assert left.scales["seen"].known
        assert left.scales["seen"].relative < 1e-6
        assert not dict(reference.state())["seen"].any()


def test_a_buffer_that_is_replaced_is_put_back_and_one_that_grows_is_refused() -> None:
    replaced = COUNTER.replace("self.seen.mul_(0.5).add_(x.mean(dim=0))", "self.seen = self.seen + x.mean(dim=0)")
    reference = ReferenceProblem(problem(replaced))
    keep_state(reference, lambda _what, _line: None)
    reference.run(reference.make_inputs(0, 2))
    assert not reference.model.get_buffer("seen").any()
    grows = COUNTER.replace("self.seen.mul_(0.5).add_(x.mean(dim=0))", "self.seen = torch.cat([self.seen, x[0]])")
    with pytest.raises(Refused, match="changes the size of the model's buffer seen"):
        keep_state(ReferenceProblem(problem(grows)), lambda _what, _line: None)


def test_a_parameter_that_is_written_to_is_known() -> None:
    parameter = "self.seen = torch.nn.Parameter(torch.zeros(16))"
    written = COUNTER.replace("self.register_buffer('seen', torch.zeros(16))", parameter)
    reference = ReferenceProblem(problem(written))
    keep_state(reference, lambda _what, _line: None)
    assert reference.changing == ("seen",)
    reference.run(reference.make_inputs(0, 2))
    assert not reference.model.get_parameter("seen").any()


def test_weights_that_are_drawn_anew_are_kept_too() -> None:
    reference = ReferenceProblem(problem(COUNTER))
    keep_state(reference, lambda _what, _line: None)
    reference.draw_weights_anew(7)
    reference.run(reference.make_inputs(0, 2))
    assert not reference.model.get_buffer("seen").any()


def test_parameters_whose_gradients_are_judged_move_on_for_a_while() -> None:
    layer = GOOD.replace(
        "    def forward(self, x):\n        return torch.relu(x) + 1",
        "    def __init__(self):\n        super().__init__()\n        self.linear = torch.nn.Linear(16, 16)\n\n"
        "    def forward(self, x):\n        return self.linear(x)",
    )
    reference = ReferenceProblem(problem(f"{layer}\nBACKWARD = True\n"))
    before = [tensor.clone() for _, tensor in reference.state()]
    with moved_parameters(reference, 1) as has_any:
        assert has_any
        assert not any(torch.equal(one, other) for one, (_, other) in zip(before, reference.state(), strict=True))
    assert all(torch.equal(one, other) for one, (_, other) in zip(before, reference.state(), strict=True))


def test_parameters_that_can_be_trained_move_on_alike_under_one_seed_and_others_stay() -> None:
    layer = GOOD.replace(
        "    def forward(self, x):\n        return torch.relu(x) + 1",
        "    def __init__(self):\n        super().__init__()\n"
        "        self.scale = torch.nn.Parameter(torch.zeros(16))\n"
        "        self.table = torch.nn.Parameter(torch.ones(16), requires_grad=False)\n\n"
        "    def forward(self, x):\n        return x * self.scale + self.table",
    )
    reference = ReferenceProblem(problem(layer))
    found = []
    for seed in (1, 1, 2):
        with moved_parameters(reference, seed) as has_any:
            assert has_any
            state = dict(reference.state())
            found.append(state["scale"].clone())
            assert bool((state["table"] == 1).all())
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])
    with moved_parameters(ReferenceProblem(problem(GOOD)), 1) as has_any:
        assert not has_any


SLOPES = """
import torch
class Model(torch.nn.Module):
    def __init__(self, slope):
        super().__init__()
        self.slope = slope
    def forward(self, x):
        return torch.where(x > 0, x, x * self.slope)
def get_inputs():
    return [torch.randn(8, 8)]
def get_init_inputs():
    return [0.1]
def steep():
    return {"slope": 0.9}
INIT_SETS = [steep]
"""


def test_other_init_inputs_build_another_model_for_as_long_as_it_is_looked_at() -> None:
    reference = ReferenceProblem(problem(SLOPES))
    x = -torch.ones(2, 2)
    with reference.other_settings(0):
        assert reference.init_inputs == {"slope": 0.9}
        assert torch.equal(reference.run([x]), x * 0.9)
    assert reference.init_inputs == [0.1]
    assert torch.equal(reference.run([x]), x * 0.1)


WIDTHS = """
import torch
BACKWARD = True
class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = torch.nn.Linear(4, width)
    def forward(self, x):
        return self.linear(x)
def get_inputs():
    return [torch.randn(2, 4, requires_grad=True)]
def get_init_inputs():
    return [3]
INIT_SETS = [lambda: [5]]
"""


def test_cotangents_have_the_shape_of_what_the_model_returns_that_is_built_with_other_init_inputs() -> None:
    reference = ReferenceProblem(problem(WIDTHS))
    assert reference.make_inputs(0, 1)[1].shape == (2, 3)
    with reference.other_settings(0):
        arguments = reference.make_inputs(0, 1)
        assert arguments[1].shape == (2, 5)
        assert reference.run(arguments)[0].shape == (2, 5)
    assert reference.make_inputs(0, 1)[1].shape == (2, 3)


def test_init_inputs_that_the_model_does_not_take_are_refused_with_their_line() -> None:
    reference = ReferenceProblem(problem(SLOPES.replace('{"slope": 0.9}', '{"steepness": 0.9}')))
    with pytest.raises(Refused, match="steepness"), reference.other_settings(0):
        pass


@pytest.mark.parametrize(
    ("buffer", "reason"),
    [
        ("torch.zeros(3, dtype=torch.uint16)", "parameter or buffer scale: tensors of dtype uint16 are not supported"),
        ("torch.eye(3).to_sparse()", "parameter or buffer scale is sparse, which only arguments and outputs may be"),
    ],
)
def test_a_buffer_that_cannot_be_handed_over_is_named(buffer: str, reason: str) -> None:
    source = GOOD.replace(
        "    def forward",
        f'    def __init__(self):\n        super().__init__()\n        self.register_buffer("scale", {buffer})\n\n'
        "    def forward",
    )
    assert reason in refused(source).reason


def test_ordinary_parameters_have_the_size_of_a_trained_model() -> None:
    init = """    def __init__(self):
        super().__init__()
        self.a = torch.nn.Parameter(torch.full((64,), 1e-6))
        self.b = torch.nn.Parameter(torch.randn(16, 64) * 1e-3)
        self.c = torch.nn.Parameter(torch.randn(64) * 2)

    def forward"""
    source = GOOD.replace("    def forward", init)
    reference = ReferenceProblem(problem(source))
    usual = dict(reference.state())
    with ordinary_parameters(reference, 7, signed=True) as has_any:
        found = dict(reference.state())
        assert has_any
        assert float(found["a"].abs().min()) >= 0.25
        assert float(found["a"].min()) < 0 < float(found["a"].max())
        assert 0.5 < float(found["b"].square().mean().sqrt()) * 8 < 4
        assert all(bool((found[name] != usual[name]).all()) for name in "abc")
    with ordinary_parameters(reference, 7, signed=False):
        assert float(dict(reference.state())["a"].min()) >= 0.25
    assert torch.equal(dict(reference.state())["b"], usual["b"])


def test_what_float64_leaves_in_the_arguments() -> None:
    reference = ReferenceProblem(problem(GOOD.replace("relu(x) + 1", "relu(x.mul_(3))")))
    found = reference.run_double_in_place([torch.ones(16, 16)])
    assert found is not None
    assert found[1][0].dtype is torch.float64
    assert float(found[1][0].sum()) == 3 * 256


NUMBERS = """import torch
class Model(torch.nn.Module):
    def forward(self, x, offsets, longest):
        return x * longest
def get_inputs():
    offsets = torch.cat((torch.zeros(1), torch.randperm(99)[:7].sort().values + 1)).long()
    return [torch.randn(100, 4), offsets, int(offsets.diff().max())]
"""


@pytest.mark.parametrize("first", [1, 5])
def test_numbers_that_a_draw_makes_stay_the_same_with_what_they_come_from(first: int) -> None:
    reference = ReferenceProblem(Problem(name="numbers", source=NUMBERS))
    draws = [reference.make_inputs(0, seed) for seed in (first, 2, 3)]
    for x, offsets, longest in draws[1:]:
        assert longest == int(offsets.diff().max())
        assert longest == draws[0][2]
        assert not torch.equal(x, draws[0][0])
