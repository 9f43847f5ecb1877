"""What is known of a GPU without CUDA."""

from __future__ import annotations

import pytest

from kernelwright.wiring import workbench
from kernelwright.wiring.workbench import check_device, devices
from services.domain.errors import ConfigurationError
from workers.devices import cards
from workers.ipc.placement import TensorDevice, place_of


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("NVIDIA H200", "h200"),
        ("NVIDIA H100 80GB HBM3", "h10080gbhbm3"),
        ("NVIDIA A100-SXM4-80GB", "a100"),
        ("NVIDIA GeForce RTX 4090", "rtx4090"),
        ("Tesla V100-SXM2-16GB", "v100"),
    ],
)
def test_models_have_short_names(model: str, name: str) -> None:
    assert cards.short_name(model) == name


def test_the_cpu_needs_no_gpu() -> None:
    place = place_of("cpu")
    assert type(place) is TensorDevice
    assert not place.is_gpu


@pytest.mark.skipif(len(devices()) > 1, reason="this machine has a GPU")
def test_a_machine_without_a_gpu_says_so() -> None:
    with pytest.raises(ConfigurationError, match="unknown device 'h200': this machine has cpu and no NVIDIA GPU"):
        check_device("h200", "triton")
    with pytest.raises(ConfigurationError, match="the backend cuda does not run on the device cpu"):
        check_device("cpu", "cuda")


def test_a_machine_without_triton_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbench, "backends", lambda _device: workbench.CPU_BACKENDS)
    with pytest.raises(ConfigurationError, match=r"does not run on the device cpu.*pip install triton"):
        check_device("cpu", "triton")
