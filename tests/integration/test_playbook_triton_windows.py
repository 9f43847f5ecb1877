"""Which graphs the sliding templates take, and what they write for them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest
import torch
from torch import nn

from agents.playbook.triton.catalogue import kernels
from services.domain.problems import ProblemAnalysis
from services.domain.tunables import combinations, declared
from workers.referee.costs.analysis import analyse
from workers.referee.screen.screen import screen

pytestmark = pytest.mark.integration


class Formula(nn.Module):
    """A model without parameters."""

    def __init__(self, function: Callable[..., torch.Tensor | tuple[torch.Tensor, ...]]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *arguments: torch.Tensor) -> torch.Tensor | tuple[torch.Tensor, ...]:
        return self.function(*arguments)


def traced(model: nn.Module, *inputs: torch.Tensor) -> ProblemAnalysis:
    found = analyse(model.eval(), inputs, (), copy_bandwidth_gb_s=10.0, peak_gflop_s=100.0, size_numbers=False)
    assert found.trace_error is None
    return found


IMAGE = torch.zeros(2, 32, 12, 14)
MODELS = {
    "convolution": (nn.Conv2d(32, 20, 3, padding="same"), IMAGE),
    "transposed": (nn.ConvTranspose2d(32, 20, 3, stride=2), IMAGE),
    "depthwise": (nn.Conv2d(32, 32, 3, groups=32), IMAGE),
    "activated": (nn.Sequential(nn.Conv2d(32, 20, 3), nn.GELU()), IMAGE),
    "sequence": (nn.Sequential(nn.Conv2d(32, 20, 3), nn.GroupNorm(4, 20), nn.MaxPool2d(2)), IMAGE),
    "pool": (nn.AvgPool2d(3), IMAGE),
    "norm": (nn.LayerNorm((32, 12, 14)), IMAGE),
    "scan": (Formula(lambda x: torch.cumsum(x.flip(3), 3).flip(3)), IMAGE),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_candidate_passes_the_screen_and_has_few_settings(name: str) -> None:
    found = kernels(traced(*MODELS[name]))

    assert found
    for kernel in found:
        values = declared(kernel.variant.source)
        assert values is not None
        assert combinations(values) <= 24
        assert screen(kernel.variant.source, frozenset()) == []


def test_what_follows_a_convolution_goes_into_its_kernel() -> None:
    source = kernels(traced(*MODELS["activated"]))[0].variant.source

    assert "tl.erf" in source
    assert source.count("convolved(") == 2


def test_an_operator_without_a_step_leaves_the_graph_to_others() -> None:
    model = nn.Sequential(nn.Conv2d(32, 20, 3), nn.Upsample(scale_factor=2))

    assert kernels(traced(model, IMAGE)) == ()


def test_padding_that_differs_at_the_ends_is_left_out() -> None:
    assert kernels(traced(nn.Conv2d(32, 20, 2, padding="same"), IMAGE)) == ()


def test_whole_numbers_and_float64_are_left_out() -> None:
    assert kernels(traced(nn.MaxPool2d(2), IMAGE.double())) == ()
    assert kernels(traced(Formula(lambda x: torch.cumsum(x, 0)), torch.zeros(4, 4, dtype=torch.int64))) == ()


def test_a_scan_of_another_flip_is_no_reversed_scan() -> None:
    assert kernels(traced(Formula(lambda x: torch.cumsum(x.flip(2), 3).flip(2)), IMAGE)) == ()


def test_smoothed_labels_in_float16_are_left_out() -> None:
    loss = Formula(lambda x, y: nn.functional.cross_entropy(x, y, label_smoothing=0.1))
    labels = torch.zeros(8, dtype=torch.int64)

    assert kernels(traced(loss, torch.zeros(8, 5), labels))
    assert kernels(traced(loss, torch.zeros(8, 5, dtype=torch.float16), labels)) == ()


def test_logits_that_are_converted_first_are_read_as_they_are() -> None:
    loss = Formula(lambda x, y: nn.functional.cross_entropy(x.float(), y))
    kept = Formula(lambda x, y: (x.float(), nn.functional.cross_entropy(x.float(), y)))
    logits, labels = torch.zeros(8, 5, dtype=torch.float16), torch.zeros(8, dtype=torch.int64)

    (kernel,) = kernels(traced(loss, logits, labels))
    assert "cross_entropy_of(x0, x1, None, 'mean', -100, 0.0, torch.float32)" in kernel.variant.source
    assert kernels(traced(kept, logits, labels)) == ()


def test_a_graph_that_was_not_traced_has_no_kernels() -> None:
    found = dataclasses.replace(traced(*MODELS["pool"]), trace_error="no")

    assert kernels(found) == ()
