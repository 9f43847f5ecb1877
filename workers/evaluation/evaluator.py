"""The worker's side of judging: keeps referees, hands them what they may not have themselves, and returns reports."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from services.domain.candidates import content_hash
from services.domain.devices import CPU, DeviceSheet
from services.domain.errors import ConfigurationError, DeviceLostError, InfrastructureError
from services.domain.evaluations import Environment, EvaluationReport, EvaluationRequest, Verdict
from services.domain.measurements import BASELINES
from services.domain.models import ModelProfile
from services.domain.nodes import Offer
from services.domain.problems import Problem
from services.domain.profiles import Disassembly
from services.domain.ratios import with_seed
from services.domain.referees import REFEREE_VERSION
from services.domain.texts import with_visible_texts
from services.domain.tunables import with_values
from services.domain.validations import CompilerDraft, ProblemRefusal, ValidationReport, ValidationRequest
from services.ports.devices import BuildResult, KernelBackend
from services.ports.sandboxes import Mount, Sandbox
from workers.backends.cpp import runtime_view
from workers.devices.cards import Gpu, check_present, on_card
from workers.devices.gpu_lock import DeviceLock
from workers.evaluation.case import Case, answer_in
from workers.evaluation.causes import with_cause
from workers.evaluation.environments import environment_of, with_clocks
from workers.evaluation.referee_process import RefereeLostError, RefereeProcess, refusal_of
from workers.evaluation.terms import terms_for
from workers.evaluation.work import CancelledError, Work
from workers.profilers.host import HostClock
from workers.profilers.perf_counters import PerfProfiler
from workers.referee.boundary import requests
from workers.referee.costs.roofline import roofline
from workers.referee.report import compose_infrastructure_error

T = TypeVar("T")

SURE_S = 600.0
"""For so long after the device was measured again, faster figures are the kernel's doing."""
PREPARE_LIMIT_S = 90.0
BASELINES_LIMIT_S = 400.0
MODEL_LIMIT_S = 600.0
MAX_REFEREES = 2
MAX_DRAFT_CHARACTERS = 500_000
"""Of a compiler's code that is judged as a candidate; it comes from a process that runs foreign code."""
DEFAULT_BASELINES = ("eager", "compile")
View = Callable[[BuildResult], tuple[Sequence[Mount], Mapping[str, str]]]


class Evaluator:
    """Validates problems and evaluates candidates on one device, one thing at a time.

    `backends` by name; `views` gives, per backend, the mounts and environment with which a runner finds a build
    (default: the `cpp` backend's). `gpu` is the card that they are given, `lock` keeps other workers of this machine
    off it. `profiler` counts where this machine permits it. `memory_bytes` bounds each sandboxed process. Baselines
    older than `baselines_max_age_s`, or from which the machine has drifted, are measured again; `measure_again`
    measures the device where a figure contradicts its sheet. Reports never raise for a candidate's sake; `validate`
    raises `InfrastructureError`.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        backends: Mapping[str, KernelBackend],
        device: DeviceSheet,
        *,
        views: Mapping[str, View] | None = None,
        profiler: PerfProfiler | None = None,
        gpu: Gpu | None = None,
        lock: DeviceLock | None = None,
        memory_bytes: int = 8 << 30,
        baselines_max_age_s: float = 3600.0,
        measure_again: Callable[[], DeviceSheet] | None = None,
        owns_sandbox: bool = False,
        lacking: str | None = None,
    ) -> None:
        """`lacking`: which orders for its device it cannot do, and why."""
        self.lacking = lacking
        self._sandbox = sandbox
        self._backends = dict(backends)
        self._views = dict({"cpp": runtime_view} if views is None else views)
        self._device = device
        self._profiler = profiler or PerfProfiler()
        self._device_lock = lock
        self._gpu = gpu
        self._terms = terms_for(device, memory_bytes, gpu)
        self._baselines_max_age_s = baselines_max_age_s
        self._measure_again = measure_again
        self._sure_until = -math.inf
        """When the device's sheet may be doubted again, on the monotonic clock."""
        self._owns_sandbox = owns_sandbox
        self._cases: OrderedDict[str, Case] = OrderedDict()
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
        with self._exclusively(cancelled), on_card(self._gpu):
            self._backend(request.device, request.backend)
            self._sandbox.dedicate(request.job_id)
            case = self._case(request.job_id, request.problem)
            work = Work(cancelled=cancelled)
            refusal = self._prepare(case, request.problem, work, again=True)
            if refusal is not None:
                case.discard()
                check_present(self._gpu)
                return _refused(refusal, self._device, started)
            wanted = BASELINES if request.draft else DEFAULT_BASELINES  # a draft is made the compiler's fastest way
            names = tuple(name for name in wanted if name in request.baselines)
            answer = _asked_of_problem(
                case, requests.MeasureBaselines(names=names), requests.BaselinesMeasured, work, BASELINES_LIMIT_S
            )
            if isinstance(answer, ProblemRefusal):
                check_present(self._gpu)
                return _refused(answer, self._device, started)
            case.know(answer.baselines)
            draft = self._draft(case, request, work) if request.draft else None
            return ValidationReport(
                analysis=case.analysis,
                refusal=None,
                device=self._device,
                baselines=case.baselines,
                seconds=time.monotonic() - started,
                draft=draft,
                notes=(*case.notes, *answer.notes),
            )

    def _draft(self, case: Case, request: ValidationRequest, work: Work) -> CompilerDraft:
        """The compiler's own code for the problem, where it writes the job's language."""
        reason = _without_draft(request.device, request.backend)
        if reason is not None:
            return CompilerDraft(reason=reason)
        answer = _asked(case, requests.DraftCandidate(), requests.CandidateDrafted, work, BASELINES_LIMIT_S)
        if isinstance(answer, ProblemRefusal):
            raise InfrastructureError(f"the referee gave no draft: {answer.reason}")
        draft = answer.draft
        if draft.source is None:
            return CompilerDraft(reason=draft.reason or "the compiler's process said nothing")
        if len(draft.source) > MAX_DRAFT_CHARACTERS:
            return CompilerDraft(reason=f"the compiler's code has {len(draft.source)} characters")
        return draft

    def check_device(self) -> None:
        """Raise `DeviceLostError` where the device is gone."""
        check_present(self._gpu)

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
            answer = _asked(case, requests.ProfileModel(), requests.ModelProfiled, work, MODEL_LIMIT_S)
            return answer if isinstance(answer, ProblemRefusal) else answer.profile

    def evaluate(self, request: EvaluationRequest, cancelled: Callable[[], bool] = lambda: False) -> EvaluationReport:
        """The report on one candidate. The machine's failures, and a cancellation, are `infrastructure_error`.

        Raises `DeviceLostError` where the device is gone: that is no answer, another worker can give one."""
        started = time.monotonic()
        environment = self.environment(request.backend)
        try:
            with self._exclusively(cancelled), on_card(self._gpu):
                report = self._evaluate(request, environment, cancelled)
                if not report.accepted:
                    check_present(self._gpu)
                return report
        except DeviceLostError:
            raise
        except (InfrastructureError, ConfigurationError) as error:
            phases = {"total": time.monotonic() - started}
            reason = str(error).strip() or f"{type(error).__name__} without a message"
            return compose_infrastructure_error(reason, environment, phases)

    def environment(self, backend: str) -> Environment:
        """What a report made now would say that its figures depend on."""
        return environment_of(self._device, self._sandbox, self._backends.get(backend), self._gpu)

    def close_job(self, job_id: str) -> None:
        """End a job's referees. A running evaluation of the job is waited for; cancel it first."""
        with self._lock:
            for key in [key for key, case in self._cases.items() if case.job_id == job_id]:
                self._cases.pop(key).discard()

    def close(self) -> None:
        """End all referees, and the sandbox where it is its own."""
        try:
            with self._lock:
                for case in self._cases.values():
                    case.discard()
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
        asked = requests.EvaluateCandidate(
            request=request, environment=environment, baselines_max_age_s=self._baselines_max_age_s
        )
        host = HostClock.now()
        answer = _asked(case, asked, requests.CandidateEvaluated, work, request.timeout_s + BASELINES_LIMIT_S)
        if isinstance(answer, ProblemRefusal):
            raise InfrastructureError(f"the referee gave no report: {str(answer)[:500]}")
        case.know(answer.baselines)
        report = answer.report
        if report.verdict is Verdict.INFRASTRUCTURE_ERROR and self._device.name != CPU:
            case.discard()  # its hold on the GPU may be what failed: the next one gets a new process
        if request.every_gate:
            report = with_visible_texts(with_cause(report, backend, work, threads=self._device.units))
        phases = dataclasses.replace(
            report.phases_s, warm=report.phases_s.warm + warm_s, total=report.phases_s.total + warm_s
        )
        report = self._with_sure_roof(case, report)
        listing = _listing(backend, request, work, report) if request.every_gate else None
        found = dataclasses.replace(
            report,
            phases_s=phases,
            environment=dataclasses.replace(with_clocks(report.environment), host=host.since()),
            listing=with_visible_texts(listing),
        )
        return with_seed(found, request.seed)

    def _with_sure_roof(self, case: Case, report: EvaluationReport) -> EvaluationReport:
        """The report; where something in it is faster than the device can be, beside what the device shows now.

        A ceiling that was measured while the machine was busy is too low, and would pass for a kernel at its roof."""
        roof = report.roofline
        if roof is None or report.latency is None or self._measure_again is None:
            return report
        first = report.shapes[0].baselines if report.shapes else report.baselines  # whose roof it is
        known = [getattr(first, name) for name in BASELINES]
        median_us = report.shapes[0].latency.median_us if report.shapes else report.latency.median_us
        fastest = min([median_us, *(found.median_us for found in known if found is not None)])
        if fastest >= roof.floor_us or roof.bound == "latency" or time.monotonic() < self._sure_until:
            return report
        self._sure_until = time.monotonic() + SURE_S
        with contextlib.suppress(InfrastructureError):
            better = self._device.with_higher_ceilings(self._measure_again())
            if better == self._device:
                return report
            self._device = better
            assert case.analysis is not None
            report = dataclasses.replace(report, roofline=roofline(case.analysis, self._device, median_us))
            case.discard()  # its referee believes the old sheet
        return report

    def _prepare(self, case: Case, problem: Problem, work: Work, *, again: bool = False) -> ProblemRefusal | None:
        """See that the case has a referee that has loaded the problem. Ends the referee when it refuses."""
        if case.process is not None and not again:
            return None
        if case.process is None:
            case.process = RefereeProcess(self._sandbox, self._terms, self._profiler, self._device_lock)
        asked = requests.PrepareProblem(
            problem=problem,
            device=self._device,
            baselines=case.baselines,
            baselines_age_s=time.monotonic() - case.measured_at,
            memory_bytes=self._terms.referee.memory_bytes if self._device.name == CPU else None,  # GPUs are asked
            analysis=case.analysis,
        )
        answer = _asked_of_problem(case, asked, requests.ProblemPrepared, work, PREPARE_LIMIT_S)
        if isinstance(answer, ProblemRefusal):
            case.discard()
            return answer
        case.analysis = answer.analysis
        case.notes = answer.notes
        return None

    def _case(self, job_id: str, problem: Problem) -> Case:
        key = content_hash(f"{job_id}\0{problem.source}\0{problem.allow_library}\0{problem.objective}")
        case = self._cases.setdefault(key, Case(job_id=job_id))
        self._cases.move_to_end(key)
        living = [other for other in self._cases.values() if other.process is not None and other is not case]
        for other in living[: max(0, len(living) + 1 - MAX_REFEREES)]:
            other.discard()
        return case

    def _backend(self, device: str, name: str) -> KernelBackend:
        if device != self._device.name:
            raise ConfigurationError(f"this worker serves the device {self._device.name}, not {device}")
        if name not in self._backends:
            raise ConfigurationError(f"no backend {name}; there are {', '.join(sorted(self._backends))}")
        return self._backends[name]

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


def _asked(
    case: Case, request: requests.RefereeRequest, expected: type[T], work: Work, limit_s: float
) -> T | ProblemRefusal:
    """A request to a case's referee. Raises `InfrastructureError`."""
    with case.conversation() as referee:
        reply = referee.ask(request, work, limit_s=limit_s)
    return answer_in(reply, expected)


def _asked_of_problem(
    case: Case, request: requests.RefereeRequest, expected: type[T], work: Work, limit_s: float
) -> T | ProblemRefusal:
    """The same before there is a candidate: a referee that is lost was ended by the problem, or by the machine."""
    try:
        return _asked(case, request, expected, work, limit_s)
    except RefereeLostError as lost:
        refusal = refusal_of(lost, limit_s)
        if refusal is None:
            raise
        return refusal


def _without_draft(device: str, backend: str) -> str | None:
    """Why the compiler's code is no candidate for a backend; None where it is one."""
    written = "cpp" if device == CPU else "triton"
    if backend == written:
        return None
    return f"torch.compile writes {written} for the device {device}, and the job is about {backend}"


def _listing(
    backend: KernelBackend, request: EvaluationRequest, work: Work, report: EvaluationReport
) -> Disassembly | None:
    """The machine code of what was judged: with the tuned values where there are some. None where nothing was built."""
    setting = report.tuned.parameters if report.tuned is not None else {}
    built = work.built(setting)
    if built is None or not built.ok:
        return None
    module = with_values(request.source, setting) if setting else request.source
    accepted = report.accepted  # of others, running the forward once more is not worth its seconds
    problem = request.problem.source if accepted else ""
    return backend.listing(dataclasses.replace(built, module=module, problem=problem))


def _refused(refusal: ProblemRefusal, device: DeviceSheet, started: float) -> ValidationReport:
    return ValidationReport(analysis=None, refusal=refusal, device=device, seconds=time.monotonic() - started)
