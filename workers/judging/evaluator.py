"""The worker's side of judging: keeps referees, hands them what they may not have themselves, and returns reports."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.metadata
import math
import platform
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from services.domain.candidates import content_hash
from services.domain.codec import CodecError, from_data, to_data
from services.domain.errors import ConfigurationError, InfrastructureError
from services.domain.evaluations import (
    BASELINES,
    Baselines,
    CompilerDraft,
    DeviceSheet,
    Disassembly,
    Environment,
    EvaluationReport,
    EvaluationRequest,
    ProblemRefusal,
    ValidationReport,
    ValidationRequest,
    Verdict,
)
from services.domain.models import ModelProfile
from services.domain.nodes import Offer
from services.domain.problems import Problem, ProblemAnalysis
from services.domain.ratios import with_seed
from services.domain.tunables import with_values
from services.ports.devices import BuildResult, KernelBackend
from services.ports.sandboxes import ExitStatus, Mount, Sandbox, SandboxLimits
from workers.backends.cpp import CppBackend, runtime_view
from workers.devices.gpu import gpu_mounts, gpu_state, profiler_mounts
from workers.devices.gpu_lock import DeviceLock
from workers.judging.referee_process import GPU_ENTRIES, CancelledError, RefereeLostError, RefereeProcess, Terms, Work
from workers.profilers.cpu_diagnosis import CpuEvidence, diagnose_cpu
from workers.profilers.host import HostClock
from workers.profilers.hot_spots import HotSpots
from workers.profilers.perf_counters import PerfProfiler
from workers.referee.compose import compose_infrastructure_error
from workers.referee.roofline import roofline

T = TypeVar("T")

REFEREE_VERSION = "3"
SURE_S = 600.0
"""For so long after the device was measured again, faster figures are the kernel's doing."""
BETWEEN_CALLS = {"docker": "stopped", "namespaces": "stopped", "limits": "running"}
"""Whether candidates are stopped unless they are asked, by the isolation reached: that takes a PID namespace."""
"""Raised whenever the gates become stricter: `reverify` looks for results of older ones."""
PREPARE_LIMIT_S = 90.0
BASELINES_LIMIT_S = 400.0
MODEL_LIMIT_S = 600.0
MAX_REFEREES = 2
CPU = "cpu"
GPU_HOST_BYTES = 32 << 30
"""Host memory of a process that uses a GPU."""
MAX_HOST_THREADS = 8
FOREVER_S = 86400.0
MAX_DRAFT_CHARACTERS = 500_000
"""Of a compiler's code that is judged as a candidate; it comes from a process that runs foreign code."""
DEFAULT_BASELINES = ("eager", "compile")
View = Callable[[BuildResult], tuple[Sequence[Mount], Mapping[str, str]]]


@dataclass(kw_only=True)
class _Case:
    """One problem of one job: its referee while it lives, and what is known without it."""

    job_id: str
    process: RefereeProcess | None = None
    analysis: Any = None
    baselines: Any = field(default_factory=lambda: to_data(Baselines()))
    measured_at: float = field(default_factory=time.monotonic)
    """When the baselines were last measured."""

    def know(self, baselines: Baselines) -> None:
        """Keep what a referee has measured."""
        found = to_data(baselines)
        if found != self.baselines:
            self.baselines, self.measured_at = found, time.monotonic()


class Evaluator:
    """Validates problems and evaluates candidates on one device, one thing at a time.

    `backends` by name; `views` gives, per backend, the mounts and environment with which a runner finds a build
    (default: the `cpp` backend's). `lock` keeps other workers of this machine off the device.
    `profiler` counts where this machine permits it.
    `memory_bytes` bounds each sandboxed process. Baselines older than `baselines_max_age_s`, or from which the machine
    has drifted, are measured again; `measure_again` measures the device where a figure contradicts its sheet. Reports
    never raise for a candidate's sake; `validate` raises `InfrastructureError`.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        backends: Mapping[str, KernelBackend],
        device: DeviceSheet,
        state_dir: Path,
        *,
        views: Mapping[str, View] | None = None,
        profiler: PerfProfiler | None = None,
        lock: DeviceLock | None = None,
        memory_bytes: int = 8 << 30,
        baselines_max_age_s: float = 3600.0,
        measure_again: Callable[[], DeviceSheet] | None = None,
        owns_sandbox: bool = False,
    ) -> None:
        self._sandbox = sandbox
        self._backends = dict(backends)
        self._views = dict({"cpp": runtime_view} if views is None else views)
        self._device = device
        self._state_dir = state_dir
        self._profiler = profiler or PerfProfiler()
        self._device_lock = lock
        self._terms = _terms(device, memory_bytes)
        self._baselines_max_age_s = baselines_max_age_s
        self._measure_again = measure_again
        self._sure_until = -math.inf
        """When the device's sheet may be doubted again, on the monotonic clock."""
        self._owns_sandbox = owns_sandbox
        self._cases: OrderedDict[str, _Case] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def device(self) -> DeviceSheet:
        """What it judges on."""
        return self._device

    @property
    def offer(self) -> Offer:
        """What it takes; results compare where referee, hardware and toolchain are the same."""
        evaluator = f"referee {REFEREE_VERSION}; {self._device.model}; {self._device.toolchain}"
        return Offer(device=self._device.name, backends=tuple(self._backends), evaluator=evaluator)

    @property
    def isolation(self) -> str:
        """The level that its sandbox reached. Raises `SandboxError`."""
        return self._sandbox.isolation

    def validate(self, request: ValidationRequest, cancelled: Callable[[], bool] = lambda: False) -> ValidationReport:
        """Run the problem's reference: an analysis with baselines, or a refusal. Raises `InfrastructureError`."""
        started = time.monotonic()
        with self._exclusively(cancelled):
            self._backend(request.device, request.backend)
            self._sandbox.dedicate(request.job_id)
            case = self._case(request.job_id, request.problem)
            work = Work(cancelled=cancelled)
            refusal = self._prepare(case, request.problem, work, again=True)
            if refusal is not None:
                self._discard(case)
                return _refused(refusal, self._device, started)
            wanted = BASELINES if request.draft else DEFAULT_BASELINES  # a draft is made the compiler's fastest way
            names = [name for name in wanted if name in request.baselines]
            answer = self._ask(case, {"op": "baselines", "names": names}, work, BASELINES_LIMIT_S)
            if "refusal" in answer:
                return _refused(_decoded(ProblemRefusal, answer["refusal"]), self._device, started)
            case.know(_decoded(Baselines, answer.get("baselines")))
            draft = self._draft(case, request, work) if request.draft else None
            return ValidationReport(
                analysis=_decoded(ProblemAnalysis, case.analysis),
                refusal=None,
                device=self._device,
                baselines=_decoded(Baselines, case.baselines),
                seconds=time.monotonic() - started,
                draft=draft,
            )

    def _draft(self, case: _Case, request: ValidationRequest, work: Work) -> CompilerDraft:
        """The compiler's own code for the problem, where it writes the job's language."""
        reason = _without_draft(request.device, request.backend)
        if reason is not None:
            return CompilerDraft(reason=reason)
        draft = _decoded(CompilerDraft, self._ask(case, {"op": "draft"}, work, BASELINES_LIMIT_S).get("draft"))
        if draft.source is None:
            return CompilerDraft(reason=draft.reason or "the compiler's process said nothing")
        if len(draft.source) > MAX_DRAFT_CHARACTERS:
            return CompilerDraft(reason=f"the compiler's code has {len(draft.source)} characters")
        return draft

    def profile(
        self, job_id: str, problem: Problem, cancelled: Callable[[], bool] = lambda: False
    ) -> ModelProfile | ProblemRefusal:
        """Where a model's time goes on this device, and its parts as problems; or why that cannot be said.

        Raises `InfrastructureError`."""
        with self._exclusively(cancelled):
            self._sandbox.dedicate(job_id)
            case, work = self._case(job_id, problem), Work(cancelled=cancelled)
            refusal = self._prepare(case, problem, work, again=True)
            if refusal is not None:
                return refusal
            answer = self._ask(case, {"op": "model"}, work, MODEL_LIMIT_S)
            if "refusal" in answer:
                return _decoded(ProblemRefusal, answer["refusal"])
            return _decoded(ModelProfile, answer.get("profile"))

    def evaluate(self, request: EvaluationRequest, cancelled: Callable[[], bool] = lambda: False) -> EvaluationReport:
        """The report on one candidate. The machine's failures, and a cancellation, are `infrastructure_error`."""
        started = time.monotonic()
        environment = self._environment(request.backend)
        try:
            with self._exclusively(cancelled):
                return self._evaluate(request, environment, cancelled)
        except (InfrastructureError, ConfigurationError) as error:
            phases = {"total": time.monotonic() - started}
            reason = str(error).strip() or f"{type(error).__name__} without a message"
            return compose_infrastructure_error(reason, environment, phases)

    def environment(self, backend: str) -> Environment:
        """What a report made now would say that its figures depend on."""
        return self._environment(backend)

    def close_job(self, job_id: str) -> None:
        """End a job's referees. A running evaluation of the job is waited for; cancel it first."""
        with self._lock:
            for key in [key for key, case in self._cases.items() if case.job_id == job_id]:
                self._discard(self._cases.pop(key))

    def close(self) -> None:
        """End all referees, and the sandbox where it is its own."""
        try:
            with self._lock:
                for case in self._cases.values():
                    self._discard(case)
                self._cases.clear()
        finally:
            if self._owns_sandbox:
                self._sandbox.close()

    def _evaluate(
        self, request: EvaluationRequest, environment: Environment, cancelled: Callable[[], bool]
    ) -> EvaluationReport:
        backend = self._backend(request.device, request.backend)
        self._sandbox.dedicate(request.job_id)
        case = self._case(request.job_id, request.problem)
        work = Work(
            build=lambda setting: backend.build(with_values(request.source, setting) if setting else request.source),
            view=self._views.get(request.backend),
            cancelled=cancelled,
        )
        started = time.monotonic()
        refusal = self._prepare(case, request.problem, work)
        if refusal is not None:
            raise InfrastructureError(f"the problem itself is unusable: {refusal.reason}. {refusal.remedy}")
        warm_s = time.monotonic() - started
        body = {
            "op": "evaluate",
            "request": to_data(request),
            "environment": to_data(environment),
            "baselines_max_age_s": self._baselines_max_age_s,
        }
        host = HostClock.now()
        answer = self._ask(case, body, work, request.timeout_s + BASELINES_LIMIT_S)
        if "report" not in answer:
            raise InfrastructureError(f"the referee gave no report: {str(answer.get('refusal'))[:500]}")
        case.know(_decoded(Baselines, answer.get("baselines")))
        report = _decoded(EvaluationReport, answer["report"])
        if report.verdict is Verdict.INFRASTRUCTURE_ERROR and self._device.name != CPU:
            self._discard(case)  # its hold on the GPU may be what failed: the next one gets a new process
        if request.every_gate:
            report = self._with_cause(report, backend, work)
        phases = dataclasses.replace(
            report.phases_s, warm=report.phases_s.warm + warm_s, total=report.phases_s.total + warm_s
        )
        report = self._with_sure_roof(case, report)
        listing = _listing(backend, work, report) if request.every_gate else None
        found = dataclasses.replace(
            report,
            phases_s=phases,
            environment=dataclasses.replace(self._with_clocks(report.environment), host=host.since()),
            listing=listing,
        )
        return with_seed(found, request.seed)

    def _with_cause(self, report: EvaluationReport, backend: KernelBackend, work: Work) -> EvaluationReport:
        """The report with the diagnosis from samples, where there are some: counters alone seldom name a cause."""
        seen, roof, profile = work.attribution, report.roofline, report.profile
        if seen is None or roof is None or profile is None:
            return report
        started = time.monotonic()
        spots: HotSpots | None = None
        missed: dict[int, str] = {}
        built = work.built(report.tuned.parameters if report.tuned is not None else {})
        if built is not None and isinstance(backend, CppBackend) and seen.places:
            spots, missed = backend.hot_spots(built, seen.places)
        evidence = CpuEvidence(
            by_owner=seen.by_owner,
            by_thread=seen.by_thread,
            threads=self._device.units,
            functions=seen.functions,
            faults_per_call=_faults_per_call(work.faults),
            spots=spots,
            missed=missed,
        )
        spent = time.monotonic() - started
        phases = dataclasses.replace(
            report.phases_s, profile=report.phases_s.profile + spent, total=report.phases_s.total + spent
        )
        return dataclasses.replace(report, profile=diagnose_cpu(roof, evidence, profile.metrics), phases_s=phases)

    def _with_sure_roof(self, case: _Case, report: EvaluationReport) -> EvaluationReport:
        """The report; where something in it is faster than the device can be, beside what the device shows now.

        A ceiling that was measured while the machine was busy is too low, and would pass for a kernel at its roof."""
        roof = report.roofline
        if roof is None or report.latency is None or self._measure_again is None:
            return report
        known = [getattr(report.baselines, name) for name in BASELINES]
        fastest = min([report.latency.median_us, *(found.median_us for found in known if found is not None)])
        if fastest >= roof.floor_us or roof.bound == "latency" or time.monotonic() < self._sure_until:
            return report
        self._sure_until = time.monotonic() + SURE_S
        with contextlib.suppress(InfrastructureError):
            better = _better(self._device, self._measure_again())
            if better == self._device:
                return report
            self._device = better
            analysis = _decoded(ProblemAnalysis, case.analysis)
            report = dataclasses.replace(report, roofline=roofline(analysis, self._device, report.latency.median_us))
            self._discard(case)  # its referee believes the old sheet
        return report

    def _prepare(self, case: _Case, problem: Problem, work: Work, *, again: bool = False) -> ProblemRefusal | None:
        """See that the case has a referee that has loaded the problem. Ends the referee when it refuses."""
        if case.process is not None and not again:
            return None
        if case.process is None:
            case.process = RefereeProcess(self._sandbox, self._terms, self._profiler, self._device_lock)
        body = {
            "op": "prepare",
            "problem": to_data(problem),
            "device": to_data(self._device),
            "baselines": case.baselines,
            "baselines_age_s": time.monotonic() - case.measured_at,
            "analysis": case.analysis,
        }
        try:
            answer = self._ask(case, body, work, PREPARE_LIMIT_S)
        except RefereeLostError as lost:  # its socket closed: by the problem's own code, or by the machine
            refusal = _explained(lost)
            if refusal is None:
                raise
            return refusal
        if "refusal" in answer:
            self._discard(case)
            return _decoded(ProblemRefusal, answer["refusal"])
        case.analysis = to_data(_decoded(ProblemAnalysis, answer.get("analysis")))
        return None

    def _ask(self, case: _Case, body: dict[str, Any], work: Work, limit_s: float) -> dict[str, Any]:
        """One conversation; whatever breaks it ends the referee, so that the next one starts afresh."""
        assert case.process is not None
        try:
            answer = case.process.ask(body, work, limit_s=limit_s)
        except BaseException:
            self._discard(case)
            raise
        if "broken" in answer:
            raise InfrastructureError(str(answer["broken"]))
        return answer

    def _discard(self, case: _Case) -> None:
        process, case.process = case.process, None
        if process is not None:
            process.close()

    def _case(self, job_id: str, problem: Problem) -> _Case:
        key = content_hash(f"{job_id}\0{problem.source}\0{problem.allow_library}")
        case = self._cases.setdefault(key, _Case(job_id=job_id))
        self._cases.move_to_end(key)
        living = [other for other in self._cases.values() if other.process is not None and other is not case]
        for other in living[: max(0, len(living) + 1 - MAX_REFEREES)]:
            self._discard(other)
        return case

    def _backend(self, device: str, name: str) -> KernelBackend:
        if device != self._device.name:
            raise ConfigurationError(f"this worker serves the device {self._device.name}, not {device}")
        if name not in self._backends:
            raise ConfigurationError(f"no backend {name}; there are {', '.join(sorted(self._backends))}")
        return self._backends[name]

    def _environment(self, backend: str) -> Environment:
        toolkit = None
        with contextlib.suppress(InfrastructureError, KeyError):
            toolkit = self._backends[backend].toolchain()
        isolation = "unknown"
        with contextlib.suppress(InfrastructureError):
            isolation = self._sandbox.isolation
        return Environment(
            device=self._device.name,
            driver=None,
            torch=_version("torch"),
            triton=_version("triton"),
            toolkit=toolkit,
            cpu=self._device.model or platform.processor(),
            referee_version=REFEREE_VERSION,
            tf32=False,
            isolation=isolation,
            between_calls=BETWEEN_CALLS.get(isolation, "unknown"),
        )

    def _with_clocks(self, environment: Environment) -> Environment:
        """The GPU's driver, clocks and reasons for slowing down, read when it has just worked."""
        if self._device.name == CPU:
            return environment
        driver, clocks = gpu_state()
        return dataclasses.replace(environment, driver=driver, clocks=clocks)

    @contextlib.contextmanager
    def _exclusively(self, cancelled: Callable[[], bool]) -> Iterator[None]:
        """One thing at a time on the device; waiting can be cancelled."""
        while not self._lock.acquire(timeout=0.2):
            if cancelled():
                raise CancelledError("cancelled")
        try:
            if cancelled():
                raise CancelledError("cancelled")
            yield
        finally:
            self._lock.release()


def _without_draft(device: str, backend: str) -> str | None:
    """Why the compiler's code is no candidate for a backend; None where it is one."""
    written = "cpp" if device == CPU else "triton"
    if backend == written:
        return None
    return f"torch.compile writes {written} for the device {device}, and the job is about {backend}"


def _faults_per_call(counted: Sequence[tuple[int, int]]) -> float:
    """Between the last two times that the referee asked."""
    if len(counted) < 2:
        return 0.0
    (calls, faults), (later_calls, later_faults) = counted[-2:]
    return max(0.0, (later_faults - faults) / max(1, later_calls - calls))


def _better(known: DeviceSheet, found: DeviceSheet) -> DeviceSheet:
    """The higher of two measurements of each ceiling: nothing makes a device look faster than it is."""
    ceilings = ("copy_bandwidth_gb_s", "cache_bandwidth_gb_s", "peak_gflop_s")
    return dataclasses.replace(known, **{name: max(getattr(known, name), getattr(found, name)) for name in ceilings})


def _listing(backend: KernelBackend, work: Work, report: EvaluationReport) -> Disassembly | None:
    """The machine code of what was judged: with the tuned values where there are some. None where nothing was built."""
    built = work.built(report.tuned.parameters if report.tuned is not None else {})
    return backend.listing(built) if built is not None and built.ok else None


def _terms(device: DeviceSheet, memory_bytes: int) -> Terms:
    if device.name != CPU:
        return _gpu_terms(memory_bytes)
    environment = {
        "OMP_NUM_THREADS": str(device.units),
        "OMP_WAIT_POLICY": "passive",  # two pools that spin against each other on few cores ruin every figure
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return Terms(
        referee=SandboxLimits(wall_s=FOREVER_S, memory_bytes=memory_bytes, processes=64),
        runner=SandboxLimits(wall_s=600.0, memory_bytes=memory_bytes, processes=64),
        baseline=SandboxLimits(wall_s=FOREVER_S, memory_bytes=memory_bytes, processes=128),
        environment=environment,
    )


def _gpu_terms(memory_bytes: int) -> Terms:
    """For a GPU: its device nodes, the entry points that use it, and room for CUDA's threads and mappings."""
    threads = str(MAX_HOST_THREADS)
    memory = max(memory_bytes, GPU_HOST_BYTES)
    return Terms(
        referee=SandboxLimits(wall_s=FOREVER_S, memory_bytes=memory, processes=512),
        runner=SandboxLimits(wall_s=600.0, memory_bytes=memory, processes=512),
        baseline=SandboxLimits(wall_s=FOREVER_S, memory_bytes=memory, processes=512),
        environment={
            "OMP_NUM_THREADS": threads,
            "OMP_WAIT_POLICY": "passive",
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        mounts=gpu_mounts(),
        profiler_mounts=profiler_mounts(),
        entries=GPU_ENTRIES,
    )


def _explained(lost: RefereeLostError) -> ProblemRefusal | None:
    """A refusal when the problem's own code brought its referee down; None when the machine may have done it."""
    what = lost.doing.get("progress")
    line = lost.doing.get("line")
    if not isinstance(what, str):
        return None
    status: ExitStatus | None = lost.status
    if status is None:
        reason, remedy = f"{what} never ended", "Make it end, or make the problem smaller."
    elif status.out_of_memory:
        reason, remedy = f"{what} ran out of memory", "Make the problem smaller, or give workers more memory."
    elif status.signal == 9 and not status.timed_out:
        return None
    else:
        end = f"exit code {status.code}" if status.signal is None else f"signal {status.signal}"
        reason, remedy = f"{what} ended its process ({end})", "Run the file with plain PyTorch and repair it."
    return ProblemRefusal(reason=reason, remedy=remedy, line=line if isinstance(line, int) else None)


def _refused(refusal: ProblemRefusal, device: DeviceSheet, started: float) -> ValidationReport:
    return ValidationReport(analysis=None, refusal=refusal, device=device, seconds=time.monotonic() - started)


def _decoded(kind: type[T], data: object) -> T:
    """A value that a referee sent; one that does not fit is the referee's failure."""
    try:
        return from_data(kind, data)
    except CodecError as error:
        raise InfrastructureError(f"the referee sent something else than was asked for: {error}") from None


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
