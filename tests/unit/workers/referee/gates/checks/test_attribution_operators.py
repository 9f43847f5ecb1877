"""Which operators of PyTorch are the main work, by their elements and by what the reference does."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from workers.ipc.tensors import TensorMeta
from workers.referee.costs.analysis import analyse
from workers.referee.gates.checks.attribution import library_work


class Product(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ x


class Squares(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * x


class Turned(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.flip(0)


def found(model: torch.nn.Module, **operators: int) -> str | None:
    analysis = analyse(model, (torch.randn(64, 64),), (), copy_bandwidth_gb_s=1.0, peak_gflop_s=1.0)
    state = SimpleNamespace(
        analysis=analysis,
        metas=lambda _number: [TensorMeta(dtype="float32", shape=(64, 64))],
        problem=SimpleNamespace(library=()),
    )
    trial: Any = SimpleNamespace(state=state, operators={f"aten::{name}": size for name, size in operators.items()})
    finding = library_work(trial)
    return None if finding is None else finding.detail


def test_an_operator_on_much_of_the_largest_tensor_does_the_work() -> None:
    assert "torch's `mm` worked on 4096" in (found(Product(), mm=4096) or "")
    assert found(Product(), mm=100) is None


def test_copies_are_work_where_the_reference_only_moves() -> None:
    for name in ("clone", "copy_", "cat"):
        assert found(Product(), **{name: 4096}) is None
        assert f"torch's `{name}` worked on 4096" in (found(Turned(), **{name: 4096}) or "")
    assert found(Turned(), view=4096, empty=4096) is None


def test_a_check_of_the_arguments_is_little_work_beside_much() -> None:
    for name in ("min", "isfinite", "abs", "all"):
        assert found(Product(), **{name: 4096}) is None
        assert f"torch's `{name}` worked on 4096" in (found(Squares(), **{name: 4096}) or "")
