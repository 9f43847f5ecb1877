"""`worker --device all`: what happens to the workers of a node's cards, with programs in their place."""

from __future__ import annotations

from kernelwright.cli.gpu_workers import command_for, environment_for
from workers.devices.cards import Gpu

GPU = Gpu(name="h100", model="NVIDIA H100", driver="580", capability="9.0", uuid="GPU-1", index=1)


def test_each_worker_is_told_its_card_and_a_port_of_its_own() -> None:
    assert command_for(GPU, ["--spool", "x"])[1:] == [
        "-m",
        "kernelwright",
        "worker",
        "--device",
        "h100",
        "--spool",
        "x",
    ]
    given = environment_for(GPU, 9101, 3)
    assert (given["KERNELWRIGHT_GPU"], given["KERNELWRIGHT_METRICS_PORT"]) == ("GPU-1", "9104")
    assert "KERNELWRIGHT_METRICS_PORT" not in environment_for(GPU, 0, 3)
