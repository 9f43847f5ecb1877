"""Numbers, structure that all draws share, and lists of other lengths, against a real runner."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tests.unit.workers.referee.boundary.test_runner_client import DOUBLE, against, honest
from tests.unit.workers.referee.gates.checks.test_surroundings import on_trial
from workers.ipc.tensors import TensorMeta, begins_in
from workers.referee.comparison.output_structure import Answer
from workers.referee.comparison.tolerance import ErrorScale
from workers.referee.errors import Refused
from workers.referee.gates.checks.other_values import on_other_values

WEIGHTED = DOUBLE.replace("return x * self.weight", "return x.sum(dim=-1)")
IN_ORDER = WEIGHTED.replace("x.sum(dim=-1)", "x[:, -1] - x[:, 0]")
BY_COUNT = WEIGHTED.replace("(self, x)", "(self, x, m)").replace(
    "x.sum(dim=-1)", "torch.where(torch.arange(4) < m.sum(dim=-1, keepdim=True), x, 0.0).sum(dim=-1)"
)
REFUSES = BY_COUNT.replace(
    "return torch", "assert bool((m[:, 1:] <= m[:, :-1]).all()), 'a prefix'\n        return torch"
)
THREE = WEIGHTED.replace("x.sum(dim=-1)", "x[0] + x[1] + x[min(2, len(x) - 1)]")


def ranges(arguments: list[Any]) -> torch.Tensor:
    x: torch.Tensor = arguments[0]
    return x.amax(dim=-1) - x.amin(dim=-1)


def masked(arguments: list[Any]) -> torch.Tensor:
    return torch.where(arguments[1], arguments[0], 0.0).sum(dim=-1)


def summed(arguments: list[Any]) -> torch.Tensor:
    return torch.stack(arguments[0]).sum(dim=0)


def rows_in_order() -> list[Any]:
    return [torch.rand(300, 32).sort(dim=-1).values]


def prefixes() -> list[Any]:
    return [torch.rand(300, 4), torch.arange(4) < torch.randint(1, 5, (300, 1))]


def tried(
    source: str, reference: Any, draw: Any, names: tuple[str, ...], unvarying: tuple[int, ...] = ()
) -> tuple[str | None, list[str]]:
    """What is found, and what the report says."""

    def expected(arguments: list[Any]) -> Answer:
        try:
            return Answer.of(reference(arguments))
        except (RuntimeError, IndexError) as error:
            raise Refused(str(error), "") from None

    def manners(arguments: list[Any]) -> Any:
        return SimpleNamespace(aliases=[(0, 0)] if begins_in(reference(arguments), arguments[0]) else [])

    notes = list[str]()
    with against(honest) as session:
        trial = on_trial(
            session,
            source,
            draw=lambda *_given: draw(),
            expected=expected,
            metas=lambda _number: [TensorMeta.of(reference(draw()))],
            unvarying=unvarying,
            is_steady_on=lambda _arguments: True,
            named_indices=(),
            names={"sum"},
            set_numbers=[0],
            knows_ties=False,
            analysis=SimpleNamespace(other_forms=(), inputs=(), operators=()),
            known_scales=lambda _kind: (ErrorScale(),),
            is_ill_conditioned=lambda *_given: False,
        )
        trial.state.problem.argument_names = names
        trial.state.problem.defaults = {}
        trial.state.problem.run = expected
        trial.state.problem.manners = manners
        trial.state.problem.problem = SimpleNamespace(source="")
        finding = on_other_values(trial, notes)
    return None if finding is None else finding.detail, notes


def test_a_kernel_that_relies_on_the_order_of_floats_is_named() -> None:
    found, notes = tried(IN_ORDER, ranges, rows_in_order, ("times",))
    assert found is None
    assert [note.partition(":")[0] for note in notes] == ["PROVEN FOR ROWS IN ORDER IN `times` ONLY"]


def test_a_kernel_that_does_not_passes() -> None:
    source = IN_ORDER.replace("x[:, -1] - x[:, 0]", "x.amax(dim=-1) - x.amin(dim=-1)")
    assert tried(source, ranges, rows_in_order, ("times",)) == (None, ["passed on `times` without rows in order"])


def test_a_kernel_that_takes_a_mask_for_a_prefix_is_found() -> None:
    found, _ = tried(BY_COUNT, masked, prefixes, ("x", "mask"))
    assert found is not None
    assert found.startswith("`mask` without padding on one side: the output")


def test_a_kernel_may_refuse_what_lacks_a_structure() -> None:
    found, notes = tried(REFUSES, masked, prefixes, ("x", "mask"))
    assert found is None
    assert notes[0].startswith("limited: `mask` without padding on one side are refused with")


def test_a_kernel_of_three_tensors_is_found_where_there_are_more() -> None:
    found, _ = tried(THREE, summed, lambda: [[torch.rand(300, 4) for _ in range(3)]], ("states",))
    assert found is not None
    assert found.startswith("lists of 3 tensors, with one item ")
    source = THREE.replace("x[0] + x[1] + x[min(2, len(x) - 1)]", "torch.stack(x).sum(dim=0)")
    assert tried(source, summed, lambda: [[torch.rand(300, 4) for _ in range(3)]], ("states",))[0] is None


def windows(arguments: list[Any]) -> torch.Tensor:
    x, window = arguments
    result: torch.Tensor = x.sum(dim=1).unfold(-1, window, 1).sum(dim=-1)
    return result


def steps(arguments: list[Any]) -> torch.Tensor:
    x, count = arguments
    result: torch.Tensor = x * 1.0
    for _ in range(count):
        result = (result + 1.0).sqrt()
    return result


def mean_of_first(arguments: list[Any]) -> torch.Tensor:
    x, count = arguments
    result: torch.Tensor = x[:count].sum(dim=0) / count
    return result


def within_lengths(arguments: list[Any]) -> torch.Tensor:
    x, lengths, longest = arguments
    return torch.where(torch.arange(longest) < lengths[:, None], x[:, :longest], 0.0)


def some_lengths() -> list[Any]:
    lengths = torch.randint(1, 65, (40,))
    lengths[0] = 64
    return [torch.rand(40, 300), lengths, 64]


def turned(arguments: list[Any]) -> torch.Tensor:
    x, angle = arguments
    result: torch.Tensor = x * torch.cos(angle)
    return result


def resized(arguments: list[Any]) -> torch.Tensor:
    x, size = arguments
    result: torch.Tensor = x[:, torch.arange(size) * x.shape[1] // size]
    return result


def cut(arguments: list[Any]) -> torch.Tensor:
    x, size = arguments
    result: torch.Tensor = x[:, :size].clone()
    return result


def kernel(arguments: str, result: str) -> str:
    """A candidate that returns this."""
    return WEIGHTED.replace("(self, x)", f"(self, {arguments})").replace("x.sum(dim=-1)", result)


@pytest.mark.parametrize("width", ["min(n, 3)", "n"])
def test_a_number_that_happens_to_be_a_size_grows(width: str) -> None:
    zeros = "x.new_zeros(x.shape[0], x.shape[2] - n + 1)"
    source = kernel("x, n", f"sum((x.sum(1)[:, i : x.shape[2] - n + 1 + i] for i in range({width})), {zeros})")
    found, _ = tried(source, windows, lambda: [torch.rand(16, 3, 64), 3], ("x", "window"), (1,))
    assert (found or "").startswith("other values of `window`") == (width != "n")


@pytest.mark.parametrize("most", ["min(n, 3)", "n"])
def test_a_number_of_steps_that_happens_to_be_a_size_grows(most: str) -> None:
    source = kernel("x, n", "y * 1.0").replace(
        "return y", f"y = x\n        for _ in range({most}): y = (y + 1.0).sqrt()\n        return y"
    )
    found, _ = tried(source, steps, lambda: [torch.rand(300, 3), 3], ("x", "steps"), (1,))
    assert (found or "").startswith("other values of `steps`") == (most != "n")


def test_a_number_that_cuts_its_size_only_becomes_smaller() -> None:
    source = kernel("x, n", "x[:n].sum(dim=0) / n + float(n > len(x))")
    found, notes = tried(source, mean_of_first, lambda: [torch.rand(30, 4), 30], ("x", "rows"), (1,))
    assert (found, notes[0]) == (None, "passed on other values of `rows`")


@pytest.mark.parametrize("most", ["min(n, 64)", "n"])
def test_a_number_that_follows_from_what_varies_changes_with_it(most: str) -> None:
    source = kernel(
        "x, m, n", f"torch.where((torch.arange(n) < m[:, None]) & (torch.arange(n) < {most}), x[:, :n], 0.0)"
    )
    found, notes = tried(source, within_lengths, some_lengths, ("x", "lengths", "longest"), (2,))
    assert (found or "").startswith("other values of `longest`") == (most != "n")
    assert found or notes[0] == "passed on other values of `longest`"


@pytest.mark.parametrize("series", ["1 - a * a / 2 + a**4 / 24 - a**6 / 720 + a**8 / 40320", "torch.cos(a)"])
def test_one_number_in_a_tensor_becomes_wider(series: str) -> None:
    found, notes = tried(
        kernel("x, a", f"x * ({series})"), turned, lambda: [torch.rand(300, 4), torch.rand(1)], ("x", "angle")
    )
    assert (found or "").startswith("values of `angle` 16 times as large") == (series != "torch.cos(a)")
    assert found or any(note == "passed on values of `angle` 256 times as large as drawn" for note in notes)


def test_an_argument_that_is_given_back_is_found_where_the_reference_copies() -> None:
    source = kernel("x, n", "x if n == x.shape[1] else x[:, torch.arange(n) * x.shape[1] // n]")
    given = ("x", "size"), (1,)
    found, _ = tried(source, resized, lambda: [torch.rand(30, 24), 16], *given)
    assert found is not None
    assert "lies in the memory of input 0" in found
    honest_one = source.replace("x if n ==", "x.clone() if n ==")
    assert tried(honest_one, resized, lambda: [torch.rand(30, 24), 16], *given)[0] is None


def test_an_argument_may_be_given_back_as_the_reference_does() -> None:
    source = kernel("x, n", "x if n == x.shape[1] else x[:, torch.arange(n) * x.shape[1] // n]")

    def reference(arguments: list[Any]) -> torch.Tensor:
        x, size = arguments
        result: torch.Tensor = x if size == x.shape[1] else resized(arguments)
        return result

    assert tried(source, reference, lambda: [torch.rand(30, 24), 16], ("x", "size"), (1,))[0] is None


def test_a_size_that_is_cut_is_no_identity_case() -> None:
    source = kernel("x, n", "x[:, :n] + float(n > x.shape[1])")
    found, _ = tried(source, cut, lambda: [torch.rand(300, 24), 16], ("x", "size"), (1,))
    assert found is None
