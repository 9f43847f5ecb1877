"""The device sheet of a prompt."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agents.prompts.hardware import device_sheet
from agents.prompts.render import render_system
from services.domain.chat import AgentRole
from tests.unit.agents.prompts.prompt_facts import BACKENDS, a_gpu, facts_of


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("role", AgentRole)
def test_every_role_reads_the_device_sheet(role: AgentRole, backend: str) -> None:
    prompt = render_system(role, facts_of(backend), {}).content

    shared = ("20.0 GB/s measured", "fp32 peak 100 GFLOP/s measured; balance: 5.0 fp32 FLOPs a byte", "1.00 µs")
    cpu = ("L1 32 KiB a core, L2 512 KiB a core, last level 32 MiB", "256 bits, 8 float32 lanes", "2 cores", "2450 MHz")
    gpu = (
        "132 SMs at up to 1980 MHz, sm_90",
        "65536 registers (at most 255 a thread) and 228 KiB of shared memory (at most 227 KiB a block)",
        "at most 64 warps (2048 threads) and 32 blocks",
        "L1 and shared memory 256 KiB an SM, L2 32 MiB",
        "fp16 700000 GFLOP/s measured (bf16 700000, tf32 350000, fp8 1400000",
    )
    for promised in (*shared, *(cpu if backend == "cpp" else gpu)):
        assert promised in prompt


def test_an_unknown_device_and_an_unknown_architecture_have_no_invented_facts() -> None:
    assert device_sheet(None) == "unknown device"
    text = device_sheet(replace(a_gpu(), instruction_set=("sm_321",), clock_mhz=None))
    assert "registers" not in text
    assert "132 SMs, sm_321" in text
