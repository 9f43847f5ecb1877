"""Facts that prompts are rendered from: a long refine round, each backend's device."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from services.domain.chat import AttemptFact, Facts, HypothesisFact, MoveFact, PlanFact, SearchBrief
from services.domain.devices import DeviceSheet
from services.domain.experiences import RecalledExperience
from services.domain.jobs import Stage
from services.domain.profiles import Profile
from tests.doubles import a_device, a_problem, a_report, an_experience
from tests.unit.agents.search_states import accepted, planned
from tests.unit.agents.some_facts import some_facts

EXAMPLE = Path(__file__).parents[4] / "examples" / "problems" / "layernorm_silu.py"
BACKENDS = ("cpp", "triton", "cuda")
SIZES = {"l1_bytes": 32 << 10, "l2_bytes": 512 << 10, "clock_mhz": 2450.0}


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


def a_long_kernel(step: int) -> str:
    """About as long as the kernels of refined jobs: 150 lines."""
    lines = "\n".join(f"        acc{line} += x[i + {line}] * w[{line}] + {step};" for line in range(120))
    return f'SOURCE = r"""\nextern "C" void run(const float* x, float* y) {{\n{lines}\n}}\n"""\nclass ModelNew: ...\n'


def a_refine_round() -> Facts:
    """Ten steps done, six experiences, two other candidates, 24 counters, a critique."""
    profile = Profile(
        source="ncu", metrics={f"sm__metric_{n}.avg": n / 3 for n in range(40)}, bottleneck="memory", reason="82 %"
    )
    report = replace(a_report(median_us=100.0), profile=profile)
    attempts: list[AttemptFact] = []
    for step in range(10):
        attempt = replace(accepted(step, 150.0 - step, parent=step - 1 if step else None), source=a_long_kernel(step))
        attempt = replace(attempt, report=replace(report), critique="the tail is skipped; " * 30, stage=Stage.REFINE)
        attempts.append(planned(attempt, f"idea-{step}", HypothesisFact(id="x", parent=None, statement="y")))
    experience = replace(an_experience(), text="vectorise the inner loop and keep sums in registers. " * 8)
    return replace(
        some_facts(
            problem=a_problem(EXAMPLE.read_text(), name="layernorm_silu"),
            attempts=tuple(attempts),
            start_point=attempts[-1],
            experiences=tuple(
                RecalledExperience(experience=replace(experience, id=f"exp-{n}"), similarity=0.5, value=0.1 * n)
                for n in range(6)
            ),
            plan=PlanFact(start_point=None, hypothesis="wider " * 40, moves=(MoveFact(name="tile"),), expected_gain=2),
            source=a_long_kernel(11),
            report=report,
        ),
        stage=Stage.REFINE,
        brief=SearchBrief(text="- line\n" * 200, inspirations=tuple(attempts[3:5])),
    )
