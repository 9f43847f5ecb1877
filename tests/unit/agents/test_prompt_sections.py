"""Each section of a prompt holds what it promises, for each backend."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from agents.prompts import counters, describe
from agents.prompts.gate_evidence import errors_first
from agents.prompts.hardware import device_sheet
from agents.prompts.render import TOLERANCES, render_system, render_user
from services.domain.chat import AgentRole, Facts
from services.domain.devices import DeviceSheet
from services.domain.evaluations import Tuned, TunedSetting, Verdict
from services.domain.gates import GateName
from services.domain.measurements import Baselines
from services.domain.profiles import Profile
from tests.doubles import a_device, a_latency, a_report
from tests.unit.agents.search_states import accepted
from tests.unit.agents.some_facts import some_facts

BACKENDS = ("cpp", "triton", "cuda")
SIZES = {"l1_bytes": 32 << 10, "l2_bytes": 512 << 10, "clock_mhz": 2450.0}
NCU = {
    "total_us": 812.4,
    "duration_us": 790.1,
    "kernels": 2.0,
    "dram_pct": 41.23456,
    "compute_pct": 12.0,
    "dram_bytes": 3.4e9,
    "occupancy_pct": 23.7,
    "registers": 168.0,
    "waves": 0.4321,
    "blocks": 57.0,
    "instructions": 5.1e7,
    "stall_barrier": 0.4,
    "stall_long_scoreboard": 11.2,
    "stall_wait": 1.1,
    "stall_gmma": 0.0,
    **{f"zzz_{number}": float(number) for number in range(60)},
}


def a_gpu() -> DeviceSheet:
    return replace(
        a_device("h200"),
        model="NVIDIA H200",
        units=132,
        instruction_set=("sm_90",),
        peak_half_gflop_s=700_000.0,
        clock_mhz=1980.0,
    )


def facts_of(backend: str) -> Facts:
    device = replace(a_device(), **SIZES) if backend == "cpp" else a_gpu()  # type: ignore[arg-type]
    return replace(some_facts(), backend=backend, device=device)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_coder_is_told_the_rules_and_how_it_is_timed(backend: str) -> None:
    prompt = render_system(AgentRole.CODER, facts_of(backend), {}).content

    for promised in (
        "## Rules and timing",
        "float32: atol 0.0001, rtol 0.0001, bound 2e-05",
        "held-out",
        "NaN and infinities",
        "by name and shape, else in order of registration",
        "Keep between calls",
        "fresh values, in alternation with a rival",
        "cuBLAS and cuDNN are refused",
        {"cpp": "immintrin.h", "triton": "tl.inline_asm_elementwise", "cuda": "inline PTX"}[backend],
    ):
        assert promised in prompt
    assert "Rules and timing" not in render_system(AgentRole.JUDGE, facts_of(backend), {}).content


def test_the_tolerances_are_the_referees() -> None:
    comparison = pytest.importorskip("workers.referee.comparison.tolerance")
    table = comparison.tolerances(None)

    assert {name: (table[name].atol, table[name].rtol, table[name].error_floor) for name in TOLERANCES} == TOLERANCES


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


def test_the_counters_that_decide_come_first_in_groups_with_units_and_short_numbers() -> None:
    lines = counters.describe(Profile(source="ncu", metrics=NCU, bottleneck="latency", reason=""))

    assert lines[0] == "time: total_us 812 µs, kernels 2, duration_us 790 µs"
    assert lines[1] == "throughput, % of peak: dram_pct 41.2 %, compute_pct 12 %, dram_bytes 3.4G bytes"
    assert lines[2].startswith("launch and occupancy: waves 0.432, occupancy_pct 23.7 %, registers 168 a thread")
    assert "stalls, warps an issue, largest first: long_scoreboard 11.2, wait 1.1, barrier 0.4" in lines
    assert lines.index("zzz_0 = 0") > 4
    assert len(lines) <= counters.MOST


def test_the_main_stall_and_the_waves_are_shown_whatever_was_selected() -> None:
    profile = Profile(source="ncu", metrics=NCU, bottleneck="latency", reason="")

    text = "\n".join(counters.describe(profile, ("dram_pct",)))

    assert text == (
        "throughput, % of peak: dram_pct 41.2 %\nlaunch and occupancy: waves 0.432\n"
        "stalls, warps an issue, largest first: long_scoreboard 11.2"
    )


def test_figures_have_intervals_and_a_step_within_noise_says_so() -> None:
    first, same, slower = accepted(0, 100.0), accepted(1, 99.5, parent=0), accepted(2, 150.0, parent=0)
    facts = replace(
        some_facts(attempts=(first, same, slower), start_point=same), baselines=Baselines(eager=a_latency(200.0))
    )

    prompt = render_user(AgentRole.PLANNER, facts).content

    assert "Reference: eager 200.0 µs (196.0 to 204.0)" in prompt
    assert "accepted at 99.5 µs (97.5 to 101.5)" in prompt
    assert "within noise of its parent: 1.0" in prompt
    assert "slower than its parent: 0.67× (" in prompt


def test_a_candidate_has_one_latency_in_a_prompt() -> None:
    first = accepted(0, 100.0)
    assert first.report is not None
    # a rival that ran at another pace this time: the ranking allows for it, the figure shown stays the measured one
    paced = replace(first.report, baselines=Baselines(eager=a_latency(300.0)))
    first, second = replace(first, report=paced), replace(accepted(1, 80.0, parent=0), source="class ModelNew: ...")

    prompt = render_user(AgentRole.CODER, some_facts(attempts=(first, second), start_point=second)).content

    assert f"{first.candidate_id} (100.0 µs) became {second.candidate_id} (80.0 µs)" in prompt
    assert "150.0 µs" not in prompt


def test_the_tuners_whole_table_is_shown_fastest_first() -> None:
    settings = tuple(
        TunedSetting(parameters={"BLOCK": block}, median_us=median)
        for block, median in ((64, 30.0), (128, 20.0), (256, None))
    )
    report = replace(a_report(), tuned=Tuned(parameters={"BLOCK": 128}, tried=3, settings=settings))

    text = describe.report(report)

    assert "tuned: BLOCK=128 (best of 3)\n  BLOCK=128: 20.0 µs\n  BLOCK=64: 30.0 µs\n  BLOCK=256: failed" in text


GPP = """In file included from /usr/include/c++/12/cmath:45,
                 from k.cpp:2:
k.cpp: In function 'void run(const float*, float*, int64_t)':
k.cpp:7:9: warning: unused variable 'a' [-Wunused-variable]
    7 |     int a;
      |         ^
k.cpp:12:20: error: 'vexp' was not declared in this scope
   12 |     y[i] = vexp(x[i]);
      |            ^~~~
k.cpp:3:7: note: suggested alternative: 'exp'
k.cpp:14:2: error: expected ';' before '}' token"""


def test_a_compilers_errors_come_first_and_whole() -> None:
    text = errors_first(GPP)

    assert text.startswith("k.cpp:12:20: error: 'vexp' was not declared in this scope\n   12 |     y[i] = vexp(x[i]);")
    assert text.index("note: suggested") < text.index("expected ';'") < text.index("warning: unused")
    assert sorted(text.splitlines()) == sorted(GPP.splitlines()), "nothing is left out"
    assert errors_first("k.cu(12): warning: x\nk.cu(14): error: y") == "k.cu(14): error: y\nk.cu(12): warning: x"
    assert errors_first("no diagnostics\nhere") == "no diagnostics\nhere"


def test_a_long_compiler_error_is_not_cut_in_a_prompt() -> None:
    detail = "\n".join(f"k.cpp:{line}:1: error: number {line} of many errors" for line in range(120))
    report = a_report(Verdict.REJECTED, failed_gate=GateName.COMPILE, detail=detail)

    prompt = render_user(AgentRole.JUDGE, some_facts(report=report, source="x")).content

    assert detail in prompt
    assert math.isclose(prompt.count("error: number"), 120)
