"""A worker offers what it has the toolchain for, and is refused where it has none."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from kernelwright.wiring import workbench
from kernelwright.wiring.workbench import check_toolchain
from services.domain.errors import ConfigurationError, ToolchainError
from services.domain.work import COMPILE


class Backend:
    """One whose toolchain is there, or is not."""

    def __init__(self, why: str | None = None) -> None:
        self._why = why

    def toolchain(self) -> str:
        if self._why is not None:
            raise ToolchainError(self._why)
        return "all there"


def equipped(**backends: Any) -> tuple[set[str], str | None]:
    found, lacking = workbench._equipped(backends)
    return set(found), lacking


def test_a_backend_without_its_toolchain_is_not_offered_and_the_reason_is_told() -> None:
    assert equipped(cuda=Backend(), triton=Backend()) == ({"cuda", "triton"}, None)
    found, lacking = equipped(cuda=Backend("no nvcc: pip install nvidia-cuda-nvcc"), triton=Backend())
    assert found == {"triton"}
    assert lacking == "orders for cuda are left to other workers: no nvcc: pip install nvidia-cuda-nvcc"


def test_a_worker_with_no_toolchain_at_all_does_not_begin() -> None:
    with pytest.raises(ToolchainError, match=r"for cuda .* no nvcc; .* for triton .* no triton"):
        equipped(cuda=Backend("no nvcc"), triton=Backend("no triton"))


@pytest.mark.parametrize(
    ("device", "words"),
    [("cpu", r"g\+\+ is not installed"), (COMPILE, "needs a compiler"), ("h200", "neither Triton nor nvcc")],
)
def test_an_image_without_a_toolchain_is_refused(device: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbench, "compile_backends", lambda: ())
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(ConfigurationError, match=words):
        check_toolchain(device)


def test_what_is_there_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbench, "compile_backends", lambda: ("cpp",))
    for device in ("cpu", COMPILE):
        check_toolchain(device)
    monkeypatch.setattr(workbench, "compile_backends", lambda: ("cuda",))
    check_toolchain("h200")
