"""What the workers found out about one candidate. Field names are the report's JSON names."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from services.domain.gates import GateName, GateResult, OutputError
from services.domain.measurements import Baselines, Gain, Latency, Passes, SeedFigures, Speedup
from services.domain.problems import Problem
from services.domain.profiles import Disassembly, Profile, Roofline
from services.domain.referees import SELF_ATTESTED, referee_number

EVALUATION_TIMEOUT_S = 120.0
"""How long an evaluation may take where nothing else is said."""


class Verdict(StrEnum):
    """The referee's conclusion."""

    ACCEPTED = "accepted"
    SUSPICIOUS = "suspicious"
    REJECTED = "rejected"
    INFRASTRUCTURE_ERROR = "infrastructure_error"


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
    card: str | None = None
    """UUID of the GPU that it was measured on."""
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
    self_attested: str | None = None
    """Why the result rests on the problem's own word, as with a `TOLERANCE` looser than the referee's: it is neither
    recalled, nor shared, nor exported. Null where it does not."""

    @property
    def proven_by(self) -> int | None:
        """The version of the referee that accepted the candidate; `SELF_ATTESTED` where the problem vouches for itself,
        None where it was not accepted."""
        if not self.accepted:
            return None
        return SELF_ATTESTED if self.self_attested else referee_number(self.environment.referee_version)

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
    """Seconds that the candidate's processes may take to answer, all calls together; then it is blamed for hanging."""
    profile: bool = True
    """Whether to run a candidate once more below a profiler that needs a process of its own (ncu: some seconds)."""
    least_profiled_speedup: float | None = None
    """Speedup, by the objective, below which that profile is not worth its seconds; None: it is made of everything."""
    thorough: bool = False
    """Whether to take more samples than a search needs: for the figures that a job reports."""
    every_gate: bool = True
    """False for a quick look: right on five draws, and how fast. Its verdict is `suspicious` at best."""
    seed: SeedFigures | None = None
    """Of the kernel that the job started from: the report says how much faster the candidate is."""
    times_held_out: bool = False
    """Whether held-out input sets are timed too: for the figures that a job ends with."""
