"""What the workers found out about one candidate. Field names are the report's JSON names."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from services.domain.gates import (
    ErrorCheck,
    GateName,
    GateResult,
    GateStatus,
    OutputError,
    WorstElement,
)
from services.domain.problems import Problem, ProblemAnalysis
from services.domain.profiles import (
    Disassembly,
    LineShare,
    Profile,
    ProfilerFile,
    Roofline,
)

__all__ = [
    "Disassembly",
    "ErrorCheck",
    "GateName",
    "GateResult",
    "GateStatus",
    "LineShare",
    "OutputError",
    "Profile",
    "ProfilerFile",
    "Roofline",
    "WorstElement",
]
"""Parts of the report that have modules of their own, and are imported from here as well."""

EVALUATION_TIMEOUT_S = 120.0
"""How long an evaluation may take where nothing else is said."""


class Verdict(StrEnum):
    """The referee's conclusion."""

    ACCEPTED = "accepted"
    SUSPICIOUS = "suspicious"
    REJECTED = "rejected"
    INFRASTRUCTURE_ERROR = "infrastructure_error"


@dataclass(frozen=True, kw_only=True)
class Latency:
    """A distribution of one call's duration, in microseconds."""

    median_us: float
    mean_us: float
    p10_us: float
    p90_us: float
    ci95_us: tuple[float, float]
    """Bootstrap 95 % confidence interval of the median."""
    samples: int
    """Number of timed calls."""
    mode: str | None = None
    """Of `compile_max` which way of compiling it was: `max-autotune-no-cudagraphs`, or `tuned` for the options
    `max_autotune`, `coordinate_descent_tuning` and `triton.multi_kernel`. Null for everything else."""


BASELINES = ("eager", "compile", "compile_max")
"""Names of the fields of `Baselines`, which those of `Speedup` share."""


def default_baselines(device: str) -> tuple[str, ...]:
    """What a job on a device is compared with where nobody says: on GPUs the dear search of `compile_max` too."""
    return BASELINES[:2] if device == "cpu" else BASELINES


@dataclass(frozen=True, kw_only=True)
class Baselines:
    """Latencies of the reference; those asked for, the rest None."""

    eager: Latency | None = None
    compile: Latency | None = None
    """`torch.compile` with its default mode."""
    compile_max: Latency | None = None
    """The faster of `torch.compile` with mode `max-autotune-no-cudagraphs` and with its tuned options."""


@dataclass(frozen=True, kw_only=True)
class Speedup:
    """Baseline latency over candidate latency; above 1 is faster."""

    eager: float | None = None
    compile: float | None = None
    compile_max: float | None = None
    best_baseline: float | None = None
    """Against the fastest baseline, from the interleaved pair."""
    ci95: tuple[float, float] | None = None
    """95 % confidence interval of `best_baseline`."""
    seed: float | None = None
    """Against the job's seed kernel, if there was one."""
    seed_ci95: tuple[float, float] | None = None
    """95 % confidence interval of `seed`."""


class Gain(StrEnum):
    """Whether a candidate is faster than the strongest baseline, by the interval of their interleaved pair."""

    SURELY = "surely"
    """The whole interval lies above 1."""
    WITHIN_NOISE = "within_noise"
    """It contains 1."""
    NONE = "none"
    """It lies below 1."""


def gain_of(speedup: Speedup) -> Gain | None:
    """What an interval says; None where nothing was measured."""
    if speedup.ci95 is None:
        return None
    if speedup.ci95[0] > 1:
        return Gain.SURELY
    return Gain.NONE if speedup.ci95[1] < 1 else Gain.WITHIN_NOISE


@dataclass(frozen=True, kw_only=True)
class PassTimes:
    """How a call with a backward pass divides, in microseconds."""

    forward_us: float
    """Median of forward calls alone, with the graph for the backward recorded."""
    forward_ci95_us: tuple[float, float]
    """Its bootstrap 95 % confidence interval."""
    backward_us: float
    """What the backward pass adds: the median of both passes less that of the forward."""
    backward_ci95_us: tuple[float, float]
    """Bootstrap 95 % confidence interval of that difference."""
    both_us: float
    """Median of calls with both passes: what speedups are of."""


@dataclass(frozen=True, kw_only=True)
class Passes:
    """Times of the passes of a candidate and of the baselines that were measured, on the first input set."""

    candidate: PassTimes
    eager: PassTimes | None = None
    compile: PassTimes | None = None
    compile_max: PassTimes | None = None


@dataclass(frozen=True, kw_only=True)
class ShapeResult:
    """Figures of one input set."""

    shapes: tuple[tuple[int, ...], ...]
    """Shapes of the tensor inputs."""
    latency: Latency
    speedup: Speedup
    name: str = ""
    """What the objective calls the set: `get_inputs`, a function's name, `rows=16 cols=256` of a list of shapes; empty
    in reports from before sets had names."""
    weight: float = 1.0
    """Its weight in a geometric mean; 0 leaves it out."""
    baselines: Baselines = field(default_factory=Baselines)
    """Latencies of the reference on this set: the one in the pair as it was in the pair, the others at its pace."""
    bytes: int | None = None
    """Size of the tensor inputs; null in reports from before it was recorded."""


@dataclass(frozen=True, kw_only=True)
class HeldOutResult:
    """Figures of one held-out input set. Its shapes stay unsaid: agents read reports."""

    number: int
    """From 1, in the order of `HELD_OUT`; entries of a list of shapes that were not announced follow."""
    latency: Latency
    speedup: Speedup


class ObjectiveKind(StrEnum):
    """Which figure of several input sets counts."""

    GEOMETRIC_MEAN = "geometric_mean"
    WORST = "worst"
    SET = "set"


@dataclass(frozen=True, kw_only=True)
class ReportedObjective:
    """What `latency`, `baselines`, `speedup` and `gain` of a report are of."""

    kind: ObjectiveKind
    sets: int
    """Input sets it is over: those of weight above 0, or 1."""
    input_set: str | None = None
    """The named set, or the worst one; null for a mean."""
    collapse: str | None = None
    """Where it wins on the announced sets and collapses on a held-out one: which, and by how much. Then `speedup` and
    `gain` are that set's, and the kernel does not win."""


@dataclass(frozen=True, kw_only=True)
class TunedSetting:
    """One setting of a search over `TUNABLES`."""

    parameters: dict[str, int | float | str | bool]
    median_us: float | None
    """From a short look, for comparison with the others only; null where it did not build or was wrong."""


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """Outcome of a search over declared `TUNABLES`."""

    parameters: dict[str, int | float | str | bool]
    """The winner's values."""
    tried: int
    """How many configurations were run."""
    settings: tuple[TunedSetting, ...] = ()
    """What each of them came to, in the order they were tried."""


@dataclass(frozen=True, kw_only=True)
class Environment:
    """What the figures depend on."""

    device: str
    driver: str | None
    torch: str | None
    triton: str | None
    toolkit: str | None
    """Compiler and version that built the candidate."""
    cpu: str
    referee_version: str
    tf32: bool
    clocks: dict[str, float] = field(default_factory=dict)
    """Clock rates in MHz, if they can be read."""
    isolation: str
    """`docker`, `namespaces` or `limits`: the level that was reached, not the one requested."""
    between_calls: str = "unknown"
    """`stopped` where a candidate's processes ran only while they were asked, `running` where nothing could stop them:
    there, work outside of calls is looked for, but not impossible."""
    host: dict[str, float] = field(default_factory=dict)
    """What the host did meanwhile: `load_1m`, `busy_share`, `steal_share` and `mhz`, where they can be read."""


@dataclass(frozen=True, kw_only=True)
class PhasesS:
    """Seconds spent in each phase."""

    warm: float = 0.0
    compile: float = 0.0
    load: float = 0.0
    correctness: float = 0.0
    integrity: float = 0.0
    timing: float = 0.0
    profile: float = 0.0
    total: float = 0.0


@dataclass(frozen=True, kw_only=True)
class EvaluationReport:
    """The one document about a candidate: the same from the command line, the API and the database."""

    verdict: Verdict
    failed_gate: GateName | None
    gates: tuple[GateResult, ...]
    latency: Latency | None
    baselines: Baselines
    speedup: Speedup
    shapes: tuple[ShapeResult, ...]
    roofline: Roofline | None
    profile: Profile | None
    tuned: Tuned | None
    environment: Environment
    phases_s: PhasesS
    listing: Disassembly | None = None
    """Machine code; null if the candidate was never built, or judged before machine code was recorded."""
    gain: Gain | None = None
    """Whether it is faster than the strongest baseline: `surely`, `within_noise` or `none`; null where nothing was
    measured, or judged before gains were told."""
    errors: tuple[OutputError, ...] | None = None
    """How far outputs were off, by gate, kind of draw and tensor, the largest share of an allowance first; up to the
    first mismatch of a rejected candidate. Null if judged before errors were recorded."""
    passes: Passes | None = None
    """How calls divide into forward and backward; null where the problem has no backward pass. `latency`, `baselines`
    and `speedup` are of both passes."""
    objective: ReportedObjective | None = None
    """What the figures above are of; null where nothing was timed, and in older reports, whose figures are the first
    input set's."""
    held_out: tuple[HeldOutResult, ...] = ()
    """Figures of held-out input sets, where they were timed: at a job's end."""

    @property
    def roofline_counts(self) -> bool:
        """Whether the roofline, which is the first input set's, is of what the objective counts."""
        told = self.objective
        return told is None or len(self.shapes) <= 1 or (told.sets == 1 and told.input_set == self.shapes[0].name)

    @property
    def collapses(self) -> bool:
        """Whether it wins on the announced input sets only."""
        return self.objective is not None and self.objective.collapse is not None

    @property
    def accepted(self) -> bool:
        """Whether the candidate counts: correct and honest."""
        return self.verdict is Verdict.ACCEPTED

    def gate(self, name: GateName) -> GateResult | None:
        """The result of one gate, or None where it was not reached."""
        return next((gate for gate in self.gates if gate.name is name), None)


@dataclass(frozen=True, kw_only=True)
class DeviceSheet:
    """What a worker measured about its device: prompts, rooflines and placement use it."""

    name: str
    """The name jobs ask for: `cpu`, `h200`, …"""
    model: str
    """The hardware's own name."""
    units: int
    """Cores a kernel may use (CPU) or streaming multiprocessors (GPU)."""
    copy_bandwidth_gb_s: float
    """Measured large-copy bandwidth, bytes read plus written, in GB/s."""
    cache_bandwidth_gb_s: float
    """Measured bandwidth for a working set that fits the last-level cache, in GB/s."""
    cache_bytes: int
    """Size of the last-level cache."""
    peak_gflop_s: float
    """Measured fp32 fused multiply-add rate, in GFLOP/s."""
    launch_us: float
    """Measured duration of an empty call, in microseconds."""
    instruction_set: tuple[str, ...]
    """ISA extensions or compute capability, for example `avx512f`, `sm_90`."""
    toolchain: str
    """Compiler, torch and driver versions that results depend on."""
    peak_half_gflop_s: float | None = None
    """Measured fp16 matrix rate, in GFLOP/s, where the device has units for it."""
    l1_bytes: int | None = None
    """First-level data cache of one core; None where it is not known, and for GPUs."""
    l2_bytes: int | None = None
    """Second-level cache of one core; None where it is not known, and for GPUs."""
    clock_mhz: float | None = None
    """Highest clock of the cores; None where it is not known."""


@dataclass(frozen=True, kw_only=True)
class ValidationRequest:
    """Ask a worker to run a problem's reference: is it usable, and what is it made of?"""

    job_id: str
    team_id: str
    problem: Problem
    device: str
    backend: str
    baselines: tuple[str, ...] = ("eager", "compile")
    """Which of the reference's latencies are wanted; a worker leaves dear ones to the first evaluation."""
    draft: bool = False
    """Whether the compiler's own code is wanted as a candidate."""


@dataclass(frozen=True, kw_only=True)
class CompilerDraft:
    """The compiler's own code as a candidate: exactly one of `source` and `reason` is set."""

    source: str | None = None
    """The candidate's module."""
    reason: str | None = None
    """Why there is none, in a sentence without its full stop."""


@dataclass(frozen=True, kw_only=True)
class ProblemRefusal:
    """Why a problem cannot be used, in terms of its file."""

    reason: str
    remedy: str
    line: int | None = None


@dataclass(frozen=True, kw_only=True)
class ValidationReport:
    """A worker's answer: exactly one of `analysis` and `refusal` is set."""

    analysis: ProblemAnalysis | None
    refusal: ProblemRefusal | None
    device: DeviceSheet | None
    baselines: Baselines = field(default_factory=Baselines)
    """Measured on the way, where they were cheap to get."""
    seconds: float = 0.0
    draft: CompilerDraft | None = None
    """The compiler's own code, where it was asked for."""
    notes: tuple[str, ...] = ()
    """What became of the problem's list of shapes: how it is sampled, duplicates, entries that are refused."""


@dataclass(frozen=True, kw_only=True)
class SeedFigures:
    """What was measured of the kernel that a job started from."""

    latency: Latency
    baselines: Baselines
    speedup: Speedup


@dataclass(frozen=True, kw_only=True)
class EvaluationRequest:
    """Ask a worker for a report. `evaluation_id` makes it idempotent: asking twice gives the same report."""

    evaluation_id: str
    job_id: str
    team_id: str
    candidate_id: str
    problem: Problem
    source: str
    """The candidate's module."""
    device: str
    backend: str
    baselines: tuple[str, ...] = ("eager", "compile")
    """Which baselines to compare with: `eager`, `compile`, `compile_max`."""
    timeout_s: float = EVALUATION_TIMEOUT_S
    """Wall seconds after which the evaluation is stopped and the candidate blamed for hanging."""
    profile: bool = True
    """Whether to run a candidate once more below a profiler that needs a process of its own (ncu: some seconds)."""
    thorough: bool = False
    """Whether to take more samples than a search needs: for the figures that a job reports."""
    every_gate: bool = True
    """False for a quick look: right on five draws, and how fast. Its verdict is `suspicious` at best."""
    seed: SeedFigures | None = None
    """Of the kernel that the job started from: the report says how much faster the candidate is."""
    times_held_out: bool = False
    """Whether held-out input sets are timed too: for the figures that a job ends with."""
